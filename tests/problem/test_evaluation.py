"""The user's functions: differences inside bounds, failures, sparse and second derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from softpenalty import Constraint
from softpenalty.problem.differences import stencils
from softpenalty.problem.evaluation import Evaluation
from softpenalty.problem.scipy_forms import read_bounds, read_constraints


def cubic(x):
    return x[0] ** 3 + 2.0 * x[0] * x[1] - x[1] ** 2


def cubic_gradient(x):
    return np.array([3 * x[0] ** 2 + 2 * x[1], 2 * x[0] - 2 * x[1]])


@pytest.mark.parametrize(("scheme", "tolerance"), [("2-point", 3e-7), ("3-point", 3e-9)])
@given(
    place=st.tuples(*[st.sampled_from([0.0, 1e-12, 1e-7, 0.3, 1.0 - 1e-9, 1.0])] * 2),
    width=st.sampled_from([1.0, 1e-3, 50.0]),
)
def test_differences_never_leave_the_bounds(scheme, tolerance, place, width):
    lower, upper = np.array([-1.0, 0.5]), np.array([-1.0, 0.5]) + width
    x = np.clip(lower + np.array(place) * width, lower, upper)

    def watched(at):
        assert (at >= lower).all()
        assert (at <= upper).all()
        return cubic(at)

    evaluation = Evaluation("minimize", watched, [], jac=scheme, bounds=(lower, upper))
    gradient, _ = evaluation.derivatives(x)
    exact = cubic_gradient(x)
    scale = 1.0 + np.abs(x).max() ** 2  # rounding and truncation grow with the values and with x
    np.testing.assert_allclose(gradient, exact, atol=tolerance * scale * 10, rtol=tolerance)


def test_a_fixed_variable_has_no_difference():
    fixed = np.array([2.0, 1.0])
    columns = [s.column for s in stencils(fixed, "2-point", np.array([2.0, 0.0]), np.array([2.0, 3.0]))]
    assert columns == [1]


def test_a_point_outside_the_bounds_is_not_held_back():
    (stencil,) = stencils(np.array([5.0]), "3-point", np.array([0.0]), np.array([1.0]))
    assert len(stencil.points) == 2


def test_differences_reuse_the_value_at_the_point_and_share_points_between_functions():
    objective, constraint = [], []
    blocks = read_constraints("minimize", Constraint(lambda x: constraint.append(x) or x * 2.0, "<"))
    evaluation = Evaluation("minimize", lambda x: objective.append(x) or cubic(x), blocks)
    evaluation.values(np.array([1.0, 2.0]))
    evaluation.derivatives(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(objective, constraint)
    assert len(objective) == evaluation.nfev == 3
    assert evaluation.njev == 1


def test_the_gradient_that_comes_with_the_objective_is_used():
    calls = []
    evaluation = Evaluation(
        "minimize",
        lambda x, a: calls.append(1) or (a * cubic(x), a * cubic_gradient(x)),
        [],
        jac=True,
        args=(2.0,),
    )
    x = np.array([0.3, 0.4])
    assert evaluation.values(x)[0] == 2.0 * cubic(x)
    np.testing.assert_array_equal(evaluation.derivatives(x)[0], 2.0 * cubic_gradient(x))
    assert len(calls) == 1


def test_the_users_functions_cannot_change_x():
    def spoil(x):
        x[:] = 7.0
        return 0.0

    x = np.array([1.0, 2.0])
    evaluation = Evaluation("minimize", spoil, read_constraints("minimize", Constraint(spoil, "<")))
    evaluation.derivatives(x)
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_failures_count_where_they_are_forgiven():
    def fragile(x):
        if x[0] > 1.0:
            raise RuntimeError("did not converge")
        return x[0]

    x, bad = np.array([0.5]), np.array([2.0])
    blocks = read_constraints("minimize", Constraint(fragile, "<"))
    with pytest.raises(RuntimeError, match="did not converge"):
        Evaluation("minimize", lambda x: 0.0, blocks).values(bad)
    evaluation = Evaluation("minimize", lambda x: x[0] ** 2, blocks, forgiving=True)
    assert np.isfinite(evaluation.values(x)[0])
    objective, values = evaluation.values(bad)
    assert np.isnan(objective)
    assert np.isnan(values).all()
    assert values.shape == (1,)
    assert evaluation.failures == 1
    assert "did not converge" in str(evaluation.calls.last_failure)


def test_failure_at_the_very_first_point():
    evaluation = Evaluation("minimize", lambda x: 1 / 0, [], forgiving=True)
    assert np.isnan(evaluation.values(np.array([1.0]))[0])


@pytest.mark.parametrize("mistake", [NameError, TypeError, AttributeError, AssertionError])
def test_mistakes_in_the_program_are_never_forgiven(mistake):
    def wrong(x):
        raise mistake("typo")

    with pytest.raises(mistake, match="typo"):
        Evaluation("minimize", wrong, [], forgiving=True).values(np.array([1.0]))


@pytest.mark.parametrize("scheme", ["2-point", "3-point"])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_where_one_side_fails_the_other_is_differenced(scheme, side):
    def edge(x):
        if side * x[0] > 1.0:
            raise ArithmeticError("outside")
        return x[0] ** 2

    evaluation = Evaluation("minimize", edge, [], jac=scheme, forgiving=True)
    x = np.array([side])
    assert evaluation.values(x)[0] == 1.0
    np.testing.assert_allclose(evaluation.derivatives(x)[0], 2.0 * side, rtol=1e-6)
    assert evaluation.failures == (0 if (scheme, side) == ("2-point", -1.0) else 1)


@pytest.mark.parametrize("failing", ["above", "below", "the usual steps"])
def test_central_differences_keep_their_order_where_a_function_fails(failing):
    step = float(np.finfo(float).eps) ** (1 / 3)  # of central differences

    def edge(x):
        away = x[0] - 1.0
        if {"above": away > 0.0, "below": away < 0.0, "the usual steps": abs(away) > 0.9 * step}[failing]:
            raise ArithmeticError("outside")
        return 1e3 * away**2 + x[0]

    evaluation = Evaluation("minimize", edge, [], jac="3-point", forgiving=True)
    # Forward differences would err by 1.5e-8·1e3.
    np.testing.assert_allclose(evaluation.derivatives(np.array([1.0]))[0], 1.0, atol=1e-9)


def test_a_failure_on_both_sides_gives_nan_derivatives():
    def edge(x):
        if x[0] != 1.0:
            raise ArithmeticError("outside")
        return x[0]

    evaluation = Evaluation("minimize", edge, [], forgiving=True)
    x = np.array([1.0])
    assert evaluation.values(x)[0] == 1.0
    assert np.isnan(evaluation.derivatives(x)[0]).all()
    assert evaluation.failures == evaluation.nfev - 1


@pytest.mark.parametrize("seed", range(5))
def test_differences_bear_random_failures(seed):
    random = np.random.default_rng(seed)

    def flaky(x):
        if random.random() < 0.2:
            raise RuntimeError("did not converge")
        return float(np.exp(x).sum())

    evaluation = Evaluation("minimize", flaky, [], forgiving=True)
    x = np.linspace(-1.0, 1.0, 10)
    while not np.isfinite(evaluation.values(x)[0]):
        evaluation._points.clear()
    np.testing.assert_allclose(evaluation.derivatives(x)[0], np.exp(x), rtol=1e-6)
    assert evaluation.failures > 0


def test_sparse_jacobians_stay_sparse():
    blocks = read_constraints(
        "minimize",
        [
            LinearConstraint(sparse.eye_array(3, format="csr"), 0.0, 1.0),
            NonlinearConstraint(lambda x: x**2, 0.0, 1.0, jac=lambda x: sparse.diags_array(2.0 * x)),
            Constraint(lambda x: x.sum(), "<", 1.0),
        ],
    )
    evaluation = Evaluation("minimize", lambda x: x.sum(), blocks)
    x = np.array([1.0, 2.0, 3.0])
    _, jacobian = evaluation.derivatives(x)
    assert sparse.issparse(jacobian)
    expected = np.vstack([np.eye(3), np.diag(2 * x), np.ones(3)])
    np.testing.assert_allclose(jacobian.toarray(), expected, atol=1e-7)


def test_second_derivatives_where_all_are_given():
    hess = {"fun": lambda x: np.diag([6 * x[0], -2.0]), "con": lambda x, v: v[0] * np.eye(2)}
    blocks = read_constraints(
        "minimize",
        [Constraint(lambda x: x @ x / 2, "<", hess=hess["con"]), LinearConstraint(np.ones((1, 2)), 0, 1)],
    )
    evaluation = Evaluation("minimize", cubic, blocks, hess=hess["fun"])
    x = np.array([1.0, 2.0])
    evaluation.values(x)
    np.testing.assert_allclose(evaluation.hessian(x, np.array([3.0, 5.0])), np.diag([9.0, 1.0]))
    without = Evaluation(
        "minimize", cubic, read_constraints("minimize", Constraint(sum, "<")), hess=hess["fun"]
    )
    assert without.hessian(x, np.array([1.0])) is None


def test_bounds_in_every_form():
    lower, upper = read_bounds("minimize", [(None, 1), (0, None)], 2)
    np.testing.assert_array_equal(lower, [-np.inf, 0.0])
    np.testing.assert_array_equal(upper, [1.0, np.inf])
    np.testing.assert_array_equal(read_bounds("minimize", Bounds(0.0, 1.0), 3)[1], np.ones(3))
    assert read_bounds("minimize", None, 3) is None


def test_refining_replaces_the_differences_that_are_left_to_us():
    blocks = read_constraints(
        "minimize", Constraint(lambda x: x[0] ** 3, "<", jac=lambda x: [[3 * x[0] ** 2, 0.0]])
    )
    evaluation = Evaluation("minimize", cubic, blocks)
    x = np.array([100.0, 2.0])
    coarse, _ = evaluation.derivatives(x)
    assert evaluation.refine(x)
    fine, _ = evaluation.derivatives(x)
    exact = cubic_gradient(x)
    assert np.abs(fine - exact).max() < 1e-2 * np.abs(coarse - exact).max()  # about 1e-7 against 1e-4
    assert not evaluation.refine(x)


@pytest.mark.parametrize("jac", ["2-point", cubic_gradient])
def test_nothing_is_refined_where_the_user_has_chosen(jac):
    assert not Evaluation("minimize", cubic, [], jac=jac).refine(np.array([1.0, 2.0]))
