"""`penalize`: laws, gradients, and other people's optimizers at work on it."""

from __future__ import annotations

import pickle

import cma
import numpy as np
import pytest
from scipy.optimize import (
    Bounds,
    LinearConstraint,
    NonlinearConstraint,
    approx_fprime,
    differential_evolution,
    minimize,
)

from softpenalty import COMBINATIONS, KERNELS, Constraint, penalize, predicted_error, shared

X = np.array([0.7, -1.3, 0.4])


def objective(x):
    return x[0] ** 2 + np.exp(0.3 * x[1]) + x[2] * x[0]


def objective_gradient(x):
    return np.array([2 * x[0] + x[2], 0.3 * np.exp(0.3 * x[1]), x[0]])


def curve(x):
    return np.array([x[0] * x[1], x[2] ** 2 - x[0]])


def curve_jacobian(x):
    return np.array([[x[1], x[0], 0.0], [-1.0, 0.0, 2 * x[2]]])


def all_forms():
    return [
        Constraint(curve, "<", [0.2, 0.1], jac=curve_jacobian, name="curve"),
        Constraint(lambda x: x.sum(), "=", 0.3, jac=lambda x: np.ones(3), name="total"),
        Constraint(lambda x: x[1], ">", -1.0, jac=lambda x: np.array([0.0, 1.0, 0.0])),
        LinearConstraint([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]], [-1.0, 0.5], [1.0, 0.5]),
        NonlinearConstraint(curve, [-np.inf, -0.4], [0.3, 0.4], jac=curve_jacobian),
        {"type": "ineq", "fun": lambda x, a: a - x[0], "jac": lambda x, a: [-1.0, 0.0, 0.0], "args": (0.5,)},
        {"type": "eq", "fun": lambda x: x[2] - 1.0, "jac": lambda x: np.array([0.0, 0.0, 1.0])},
    ]


def make(**kwargs):
    settings = {
        "sigma": 3.0,
        "alpha": 0.23,  # no error of X falls on the kinks of huber
        "jac": objective_gradient,
        "bounds": [(0.0, 1.0), (None, 2.0), (1.0, 1.0)],
    }
    return penalize(objective, all_forms(), **(settings | kwargs))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("add_quadratic", [0.0, 0.7])
def test_gradient_equals_differences_of_the_value(kernel, combination, add_quadratic):
    p = make(kernel=kernel, combination=combination, add_quadratic=add_quadratic)
    value, gradient = p.value_and_gradient(X)
    assert value == p(X) == pytest.approx(p.objective(X) + p.penalty(X), rel=1e-15)
    # central differences with step 1e-6: truncation and rounding both about 1e-9 of values near 10
    differences = [(p(X + h) - p(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_multipliers_are_derivatives_with_respect_to_the_errors(kernel, combination):
    """Moving one target down by h raises that error, and nothing else, by h."""
    h = 1e-6

    def at(shift):
        c = [
            Constraint(lambda x, i=i: x[i], op, t)
            for i, (op, t) in enumerate(zip("<=>", X - shift, strict=True))
        ]
        return penalize(
            objective, c, kernel=kernel, combination=combination, sigma=[1.0, 2.0, 3.0], alpha=0.3
        )

    start = np.array([0.1, -0.2, 0.15])
    multipliers = at(start).multipliers(X)
    for i, unit in enumerate(np.eye(3)):
        slope = (at(start + h * unit).penalty(X) - at(start - h * unit).penalty(X)) / (2 * h)
        assert multipliers[i] == pytest.approx(slope, rel=1e-7, abs=1e-8)
    assert multipliers[0] >= 0.0 >= multipliers[2]


def test_errors_are_signed_and_violations_are_not():
    p = penalize(
        objective,
        [
            Constraint(lambda x: x[0], "<", 0.5),
            Constraint(lambda x: x[0], "=", 1.0),
            Constraint(lambda x: x[0], ">", 0.6),
        ],
        bounds=Bounds([0.0, -1.0, -np.inf], [np.inf, 0.0, 0.3]),
        sigma=1.0,
        alpha=0.1,
    )
    np.testing.assert_allclose(p.errors(X), [0.2, -0.3, 0.1, -1.3, 0.1, 0.7, -0.3])
    np.testing.assert_allclose(p.violations(X), [0.2, 0.3, 0.0, 0.0, 0.1, 0.0, 0.3])
    assert p.labels == [
        "constraint 0 < 0.5", "constraint 1 = 1", "constraint 2 > 0.6",
        "x[1] < 0", "x[2] < 0.3", "x[0] > 0", "x[1] > -1",
    ]  # fmt: skip


def test_what_holds_is_violated_by_zero_not_by_minus_zero():
    rows = [Constraint(lambda x: x[:2], operator, [1.0, -1.3]) for operator in "<=>"]
    p = penalize(objective, rows, bounds=[(0.7, 1.0), (-2.0, 0.0), (0.4, 0.4)], sigma=1.0, alpha=0.1)
    violations = p.violations(X)
    assert (violations == 0.0).sum() == 9
    assert not np.signbit(violations).any()


def test_a_constraint_may_be_called_x():
    p = penalize(lambda x: x[0], Constraint(lambda x: x[0], "<", 2.0, name="x"), bounds=[(0.0, 1.0)],
                 sigma=1.0, alpha=0.1)  # fmt: skip
    p([0.5])
    assert p.labels == ["x < 2", "x[0] < 1", "x[0] > 0"]


def test_scipys_forms_go_by_the_name_they_have():
    curved, linear, box = (
        NonlinearConstraint(lambda x: x[0] * x[1], -1.0, 5.0),
        LinearConstraint(np.ones((2, 3)), -np.inf, 9.0),
        Bounds([0.0, -np.inf, -np.inf], np.inf),
    )
    curved.name, linear.name, box.name = "area", "total", "box"
    plain = {"type": "eq", "fun": lambda x: x[2]}
    p = penalize(objective, [curved, linear, box, plain, {**plain, "name": "third"}], sigma=1.0, alpha=0.1)
    p(X)
    assert p.labels == [
        "area < 5", "area > -1", "total[0] < 9", "total[1] < 9", "box[0] > 0", "constraint 3 = 0",
        "third = 0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "error", "complaint"),
    [(7, TypeError, "must be a string; got 7"), ("bounds", ValueError, "must not be 'bounds'")],
)
def test_names_of_scipys_forms_are_checked(name, error, complaint):
    with pytest.raises(error, match=rf"`penalize\(constraints=...\)`: the name of a constraint {complaint}"):
        penalize(objective, {"type": "eq", "fun": objective, "name": name})


def test_every_scipy_form_gives_the_rows_it_means():
    p = make()
    p(X)
    assert p.labels == [
        "curve[0] < 0.2", "curve[1] < 0.1", "total = 0.3", "constraint 2 > -1",
        "constraint 3[1] = 0.5", "constraint 3[0] < 1", "constraint 3[0] > -1",
        "constraint 4[0] < 0.3", "constraint 4[1] < 0.4", "constraint 4[1] > -0.4",
        "constraint 5 > 0", "constraint 6 = 0",
        "x[2] = 1", "x[0] < 1", "x[1] < 2", "x[0] > 0",
    ]  # fmt: skip
    assert p.errors(X)[10] == pytest.approx(0.5 - 0.7)


def test_own_sigma_and_alpha_win_over_the_common_ones():
    own = Constraint(lambda x: x[:2], "<", 0.0, sigma=[2.0, 4.0], alpha=0.5)
    other = Constraint(lambda x: x[2], "<", 0.0)
    p = penalize(objective, [own, other], sigma=7.0, alpha=0.1)
    p(X)
    np.testing.assert_array_equal(p.sigma, [2.0, 4.0, 7.0])
    np.testing.assert_array_equal(p.alpha, [0.5, 0.5, 0.1])


def test_one_call_of_the_users_functions_per_point():
    calls = {"fun": 0, "jac": 0, "con": 0}

    def fun(x):
        calls["fun"] += 1
        return objective(x)

    def jac(x):
        calls["jac"] += 1
        return objective_gradient(x)

    def con(x):
        calls["con"] += 1
        return curve(x)

    p = penalize(fun, Constraint(con, "<", jac=curve_jacobian), sigma=1.0, alpha=0.1, jac=jac)
    for ask in (p, p.gradient, p.value_and_gradient, p.errors, p.multipliers, p.penalty, p.violations):
        ask(X)
    assert calls == {"fun": 1, "jac": 1, "con": 1}
    assert (p.evaluation.nfev, p.evaluation.njev) == (1, 1)
    p(X + 1.0)
    assert calls == {"fun": 2, "jac": 1, "con": 2}


def test_replace_shares_evaluations_and_shifts_multipliers():
    calls = []
    p = penalize(
        lambda x: calls.append(1) or objective(x),
        Constraint(lambda x: x.sum(), "=", 0.0),
        sigma=1.0,
        alpha=0.1,
    )
    p(X)
    q = p.replace(sigma=4.0, shift=[0.5])
    assert q.multipliers(X)[0] == pytest.approx(4.0 * p.multipliers(X)[0] + 0.5, rel=1e-14)
    assert q.penalty(X) == pytest.approx(4.0 * p.penalty(X) + 0.5 * X.sum(), rel=1e-14)
    assert len(calls) == 1


@pytest.mark.parametrize("jac", ["2-point", "3-point", "cs", None])
def test_missing_derivatives_are_differenced(jac):
    p = penalize(
        objective,
        [Constraint(curve, "<", [0.2, 0.1], jac=jac), Constraint(lambda x: x.sum(), "=", 0.3, jac=jac)],
        sigma=3.0, alpha=0.2, jac=jac,
    )  # fmt: skip
    exact = penalize(objective, all_forms()[:2], sigma=3.0, alpha=0.2, jac=objective_gradient)
    # the error of one-sided differences is about sqrt(eps)·curvature, of central ones eps^(2/3)
    tolerance = {"2-point": 2e-7, None: 2e-7, "3-point": 1e-9, "cs": 1e-14}[jac]
    np.testing.assert_allclose(p.gradient(X), exact.gradient(X), atol=tolerance, rtol=tolerance)


# Other people's optimizers -------------------------------------------------------------------------------

CIRCLE = Constraint(lambda x: x[0] ** 2 + x[1] ** 2, "<", 2.0, name="circle")
CIRCLE_SOLUTION = np.array([-1.0, -1.0])  # of min x0 + x1; the multiplier is ½


def circle_penalty(**kwargs):
    return penalize(lambda x: x[0] + x[1], CIRCLE, **({"sigma": 1.0, "alpha": 1e-3} | kwargs))


def test_bfgs_finds_the_solution_where_sigma_is_twice_the_multiplier():
    p = circle_penalty()
    result = minimize(p, [0.5, 0.3], jac=p.gradient, method="BFGS")
    np.testing.assert_allclose(result.x, CIRCLE_SOLUTION, atol=1e-6)  # BFGS stops at a gradient of 1e-5


@pytest.mark.parametrize("kernel", ["softplus", "algebraic", "quadratic"])
def test_bfgs_leaves_the_predicted_error(kernel):
    p = circle_penalty(kernel=kernel, sigma=7.0, alpha=1e-2)
    result = minimize(p, [0.5, 0.3], jac=p.gradient, method="BFGS", options={"gtol": 1e-9})
    # the multiplier at the penalty's own minimum differs from ½ by a few per cent of the error
    assert abs(p.errors(result.x)[0]) == pytest.approx(predicted_error(0.5, 7.0, 1e-2, "<", kernel), rel=0.03)


def test_nelder_mead():
    result = minimize(
        circle_penalty(), [0.5, 0.3], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}
    )
    np.testing.assert_allclose(result.x, CIRCLE_SOLUTION, atol=1e-5)


def test_differential_evolution_with_whole_populations():
    p = circle_penalty(vectorized=True)
    result = differential_evolution(
        p,
        [(-3, 3), (-3, 3)],
        vectorized=True,
        updating="deferred",
        seed=3,
        polish=False,
        tol=1e-10,
        maxiter=400,
    )
    np.testing.assert_allclose(result.x, CIRCLE_SOLUTION, atol=1e-4)
    population = np.array([[0.1, -1.0, 2.0], [0.4, -1.0, -2.0]])
    np.testing.assert_allclose(p(population), [p(column) for column in population.T], rtol=1e-14)
    assert p.errors(population).shape == p.multipliers(population).shape == (1, 3)


def test_cma():
    p = circle_penalty()
    x, _ = cma.fmin2(
        p, [0.5, 0.3], 0.5, {"seed": 7, "verbose": -9, "verb_log": 0, "tolfun": 1e-13, "tolx": 1e-10}
    )
    np.testing.assert_allclose(x, CIRCLE_SOLUTION, atol=1e-4)


def test_added_quadratic_holds_where_sigma_is_too_small():
    weak = circle_penalty(sigma=0.1)
    lost = minimize(weak, [0.5, 0.3], jac=weak.gradient, method="BFGS")
    assert weak.errors(lost.x)[0] > 10.0  # leaves the circle until its gradient has grown enough
    held = circle_penalty(sigma=0.1, add_quadratic=10.0)
    result = minimize(held, [0.5, 0.3], jac=held.gradient, method="BFGS")
    assert 0.0 < held.errors(result.x)[0] < 0.05


def test_report_names_every_row():
    text = circle_penalty().report([1.0, 2.0])
    assert "circle < 2" in text
    assert "multiplier" in text


def test_approx_fprime_agrees():
    p = circle_penalty()
    np.testing.assert_allclose(p.gradient([1.0, 0.5]), approx_fprime([1.0, 0.5], p, 1e-8), atol=1e-6)


def total(x):
    return x[0] + x[1]


def product(x, factor):
    return factor * x[0] * x[1]


def test_penalties_can_be_sent_to_another_process():
    constraints = [
        LinearConstraint([[1.0, 2.0]], 0.0, 9.0),
        {"type": "ineq", "fun": product, "args": (2.0,)},
        Constraint(shared(total)[()], "<", 3.0),
    ]
    p = penalize(total, constraints[:2], sigma=2.0, alpha=0.1)
    x = np.array([1.0, 2.0])
    for used in (False, True):
        other = pickle.loads(pickle.dumps(p))
        assert other(x) == p(x)
        np.testing.assert_array_equal(other.gradient(x), p.gradient(x))
        assert used or len(p.rows) == 3
    pickle.dumps(constraints)


def test_sigma_and_alpha_mean_the_same_from_first_to_last():
    p = penalize(total, LinearConstraint([[1.0, 2.0]], 0.0, 9.0), sigma=2.0, alpha=0.1)
    for name in ("sigma", "alpha", "rows"):
        with pytest.raises(ValueError, match="known after the first evaluation"):
            getattr(p, name)
    p([1.0, 2.0])
    np.testing.assert_array_equal(p.sigma, [2.0, 2.0])
    harder = p.replace(sigma=[3.0, 4.0], alpha=0.5)
    np.testing.assert_array_equal(harder.sigma, [3.0, 4.0])
    np.testing.assert_array_equal(harder.alpha, [0.5, 0.5])
    np.testing.assert_array_equal(p.alpha, [0.1, 0.1])


def test_all_points_of_a_stencil_go_through_one_map():
    p = penalize(total, LinearConstraint([[1.0, 2.0]], 0.0, 9.0), sigma=2.0, alpha=0.1)
    batches = []

    def remember(function, points):
        points = list(points)
        batches.append(len(points))
        return map(function, points)

    p.evaluation.calls.map = remember
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(
        p.gradient(x),
        penalize(total, LinearConstraint([[1.0, 2.0]], 0.0, 9.0), sigma=2.0, alpha=0.1).gradient(x),
    )
    assert batches == [2]
