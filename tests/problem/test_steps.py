"""Difference steps that the user sets: where the functions are called, for objective and constraints."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import NonlinearConstraint

from softpenalty import Constraint, minimize, penalize
from softpenalty.problem.evaluation import Evaluation
from softpenalty.problem.scipy_forms import read_constraints
from softpenalty.problem.steps import Steps, read_steps

X = np.array([4.0, -0.5, 0.25])


class Watched:
    """x·x, remembering where it was asked for."""

    def __init__(self):
        self.points = []

    def __call__(self, x):
        self.points.append(np.array(x))
        return x @ x

    def moves(self, x):
        """How far each variable was moved from x, one entry a point that is not x itself."""
        moved = [point - x for point in self.points if (point != x).any()]
        return [delta[np.flatnonzero(delta)].item() for delta in moved]


@pytest.mark.parametrize("scheme", [None, "2-point", "3-point", "cs"])
@pytest.mark.parametrize(
    "given", [{"finite_diff_rel_step": 1e-3}, {"eps": 1e-3}], ids=["relative", "absolute"]
)
def test_every_function_is_differenced_over_the_steps(scheme, given):
    objective, row = Watched(), Watched()
    blocks = read_constraints("minimize", Constraint(row, "<", jac=scheme))
    evaluation = Evaluation("minimize", objective, blocks, jac=scheme, steps=read_steps("minimize", **{
        "finite_diff_rel_step": None, **given}))  # fmt: skip
    gradient, jacobian = evaluation.derivatives(X)
    expected = 1e-3 * np.abs(X) if "finite_diff_rel_step" in given else np.full(3, 1e-3)
    sides = {"3-point": [1.0, -1.0], "cs": [1j]}.get(scheme, [1.0])
    wanted = [step * side for step in expected for side in sides]
    for function in (objective, row):
        np.testing.assert_allclose(function.moves(X), wanted, rtol=1e-12)
    # x·x differenced by h forward has the slope 2x + h
    left = expected if scheme in (None, "2-point") else 0.0
    np.testing.assert_allclose(gradient, 2.0 * X + left, rtol=1e-9)
    np.testing.assert_allclose(jacobian[0], 2.0 * X + left, rtol=1e-9)


def test_the_points_are_those_of_scipy():
    x = np.array([4.0, 0.5, 0.25])  # positive, so that SciPy steps forward too
    ours, theirs = Watched(), Watched()
    steps = np.array([1e-2, 1e-3, 1e-4])
    Evaluation("minimize", ours, [], jac="2-point", steps=Steps(steps, True)).derivatives(x)
    scipy.optimize.minimize(
        theirs, x, method="SLSQP", jac="2-point", options={"finite_diff_rel_step": steps, "maxiter": 0}
    )
    np.testing.assert_allclose(ours.moves(x), theirs.moves(x)[:3], rtol=1e-12)


def test_steps_do_not_cross_bounds_and_do_not_vanish_at_zero():
    function = Watched()
    bounds = np.array([-1.0, -9.0]), np.array([1.0, 9.0])
    evaluation = Evaluation("minimize", function, [], bounds=bounds, steps=Steps(np.array(0.1), True))
    x = np.array([0.95, 0.0])
    evaluation.derivatives(x)
    np.testing.assert_allclose(function.moves(x), [-0.095, 0.1], rtol=1e-12)


def test_a_constraint_may_have_steps_of_its_own():
    objective, row, other = Watched(), Watched(), Watched()
    constraints = [
        NonlinearConstraint(row, 0.0, 1.0, finite_diff_rel_step=1e-2),
        NonlinearConstraint(other, 0.0, 1.0),
    ]
    blocks = read_constraints("minimize", constraints)
    Evaluation("minimize", objective, blocks, steps=Steps(np.array(1e-4), False)).derivatives(X)
    np.testing.assert_allclose(row.moves(X), 1e-2 * np.abs(X), rtol=1e-12)
    for function in (objective, other):
        np.testing.assert_allclose(function.moves(X), np.full(3, 1e-4), rtol=1e-9)


def noisy(x):
    """(x0 − 1)² + (x1 + 2)² on a grid of 1e-5, as a simulation with an inner tolerance returns it."""
    smooth = (x[0] - 1.0) ** 2 + (x[1] + 2.0) ** 2
    return smooth + 1e-5 * np.sin(1e7 * (x[0] + 3.0 * x[1]))


@pytest.mark.parametrize(
    "given", [{"finite_diff_rel_step": 1e-2}, {"eps": 1e-2}], ids=["relative", "absolute"]
)
@pytest.mark.parametrize("how", ["options", "keyword", "scipy"])
def test_a_noisy_simulation_is_solved_with_steps_above_its_noise(given, how):
    row = {"type": "ineq", "fun": lambda x: x[0] - 1.5 + 1e-6 * np.sin(1e7 * x[1])}
    start, arguments = [3.0, 3.0], {"jac": "3-point", "constraints": [row]}
    if how == "scipy":
        result = scipy.optimize.minimize(noisy, start, method=minimize, options=given, **arguments)
    elif how == "options":
        result = minimize(noisy, start, options=given, **arguments)
    else:
        result = minimize(noisy, start, **given, **arguments)
    # differences over h leave an error of noise/h = 1e-3 in the slopes of curvature 2
    np.testing.assert_allclose(result.x, [1.5, -2.0], atol=5e-3)
    assert result.success, result.message
    assert result.nfev < 150


@pytest.mark.parametrize("given", [{"finite_diff_rel_step": [1e-2, 1e-3]}, {"eps": 1e-3}])
def test_penalize_takes_them_too(given):
    objective, row = Watched(), Watched()
    x = np.array([2.0, 1.0])
    p = penalize(objective, Constraint(row, "<", 1.0), sigma=2.0, alpha=0.1, **given)
    p.gradient(x)
    expected = [2e-2, 1e-3] if "finite_diff_rel_step" in given else [1e-3, 1e-3]
    for function in (objective, row):
        np.testing.assert_allclose(function.moves(x), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["finite_diff_rel_step", "eps"])
@pytest.mark.parametrize("value", [0.0, -1e-3, np.inf, np.nan, [1e-3, 0.0], "small"])
def test_bad_steps_are_refused(name, value):
    with pytest.raises((ValueError, TypeError), match=rf"minimize\({name}=...\)"):
        minimize(Watched(), [1.0, 2.0], **{name: value})
    with pytest.raises((ValueError, TypeError), match=rf"penalize\({name}=...\)"):
        penalize(Watched(), sigma=1.0, alpha=1.0, **{name: value})


@pytest.mark.parametrize("name", ["finite_diff_rel_step", "eps"])
def test_steps_must_fit_the_variables(name):
    with pytest.raises(
        ValueError, match=rf"minimize\({name}=...\).*each of the 2 variables; got shape \(3,\)"
    ):
        minimize(Watched(), [1.0, 2.0], **{name: [1e-3, 1e-3, 1e-3]})


def test_the_report_knows_what_such_steps_leave():
    result = minimize(Watched(), [1.0, 2.0], constraints=Constraint(lambda x: x[0], ">", 1.0), eps=1e-3)
    scheme, error, largest = result.differences["objective"]
    assert largest == pytest.approx(2.0, abs=2e-3)
    order = 1 if scheme == "2-point" else 2
    assert error == pytest.approx(1e-3**order * largest, rel=0.01)


def test_central_differences_take_the_steps_of_each_function():
    objective, row, other = Watched(), Watched(), Watched()
    rows = [
        NonlinearConstraint(row, 0.0, 1.0, jac=lambda x: 2.0 * x, finite_diff_rel_step=1e-2),
        NonlinearConstraint(other, 0.0, 1.0, jac=lambda x: 2.0 * x),
    ]
    evaluation = Evaluation(
        "minimize",
        objective,
        read_constraints("minimize", rows),
        jac=lambda x: 2.0 * x,
        steps=Steps(np.array(1e-3), False),
    )
    jacobians = evaluation.central(X, [1, -1, 0])
    sides = np.array([1.0, -1.0])
    np.testing.assert_allclose(row.moves(X), np.outer(1e-2 * np.abs(X), sides).ravel(), rtol=1e-10)
    for function in (objective, other):
        np.testing.assert_allclose(function.moves(X), np.outer(np.full(3, 1e-3), sides).ravel(), rtol=1e-10)
    np.testing.assert_allclose(np.concatenate(jacobians), np.tile(2.0 * X, (3, 1)), rtol=1e-9)
