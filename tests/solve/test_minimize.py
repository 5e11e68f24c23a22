"""`minimize` on known problems, awkward cases, and in its interface."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from known_problems import AWKWARD, CLASSICS, Known, maratos, quadratic, quadratic_gradient, rosenbrock
from softpenalty import Constraint
from softpenalty.solve.minimize import minimize
from softpenalty.solve.sqp import method as module
from softpenalty.solve.status import Status


def check(known: Known, result, tolerance: float = 1e-5) -> None:
    assert result.success, result.message
    assert result.status == 0
    assert result.kkt["stationarity"] <= 1e-6
    if known.solution is not None:
        np.testing.assert_allclose(result.x, known.solution, atol=tolerance)
    if known.optimum is not None:
        assert result.fun == pytest.approx(known.optimum, abs=tolerance)


@pytest.mark.parametrize(
    ("known", "derivatives"),
    [
        pytest.param(known, derivatives, id=f"{known.name}-{derivatives}")
        for known in CLASSICS
        for derivatives in ("differences", "first", "second")
        if derivatives != "second" or known.arguments["hess"] is not None
    ],
)
def test_classics(known, derivatives):
    arguments = known.arguments
    if derivatives != "second":
        arguments["hess"] = None
    if derivatives == "differences":
        arguments["jac"] = None
    # Forward differences know a gradient to about 1e-8, which Rosenbrock's valley stretches to 1e-5 in x.
    check(known, minimize(**arguments), 1e-4 if derivatives == "differences" else 1e-5)


@pytest.mark.parametrize("degrees", [30.0, 60.0, 120.0, 175.0])
def test_no_maratos_effect(degrees):
    known = maratos(degrees)
    result = minimize(**{**known.arguments, "hess": None})
    check(known, result)
    assert result.njev <= 20
    assert [row["trials"] for row in result.history[-4:]] == [1] * 4  # full steps near the solution


@pytest.mark.parametrize("known", AWKWARD, ids=lambda k: k.name)
def test_awkward_cases(known):
    check(known, minimize(**known.arguments))


@pytest.mark.parametrize("factor", [1e-6, 1e-4, 1e4, 1e6])
@pytest.mark.parametrize("rows", [1e-3, 1.0, 1e3])
def test_scale_of_objective_and_rows_does_not_matter(factor, rows):
    known = rosenbrock("equality and inequality")
    scaled = [LinearConstraint(rows * np.array(c.A), rows * c.lb, rows * c.ub) for c in known.constraints]
    plain = minimize(**{**known.arguments, "hess": None})
    result = minimize(
        lambda x: factor * known.fun(x), known.x0, jac=lambda x: factor * known.jac(x), bounds=known.bounds,
        constraints=scaled,
    )  # fmt: skip
    check(known, result)
    assert abs(result.njev - plain.njev) <= 3


def test_infeasible_linear_names_the_conflict():
    result = minimize(
        lambda x: x @ x,
        [1.0, 1.0],
        constraints=[
            Constraint(lambda x: x[0] + x[1], ">", 2.0, name="enough"),
            Constraint(lambda x: x[0] + x[1], "<", 1.0, name="budget"),
            Constraint(lambda x: x[0] - x[1], "<", 5.0, name="bystander"),
        ],
    )
    assert not result.success and result.status == Status.INFEASIBLE.number
    text = " ".join(result.conflict)
    assert "enough" in text and "budget" in text and "bystander" not in text
    assert "enough" in result.message and "Cannot hold together" in result.report()


def test_infeasible_nonlinear_and_with_a_bound():
    circle = Constraint(lambda x: x @ x, "<", 1.0, name="disc")
    result = minimize(lambda x: x[0], [3.0, 1.0], bounds=[(2.0, 4.0), (None, None)], constraints=circle)
    assert result.status == Status.INFEASIBLE.number
    assert any("disc" in c for c in result.conflict) and any("x[0]" in c for c in result.conflict)
    np.testing.assert_allclose(result.x[0], 2.0)  # least violated


def test_unbounded():
    result = minimize(lambda x: x[0] + x[1], [1.0, 1.0], constraints=Constraint(lambda x: x[0], ">", 0.0))
    assert not result.success and result.status == Status.UNBOUNDED.number


def test_invalid_start():
    def fails(x):
        raise RuntimeError("no licence")

    result = minimize(fails, [1.0])
    assert not result.success and result.status == Status.INVALID_START.number
    assert "no licence" in result.message
    assert "Invalid start" in result.report()
    assert minimize(lambda x: np.nan, [1.0]).status == Status.INVALID_START.number


def test_functions_are_never_called_outside_the_bounds():
    lower, upper = np.array([0.0, 0.0]), np.array([1.0, 2.0])

    def guarded(x):
        assert (x >= lower).all() and (x <= upper).all(), x
        return quadratic(x) + np.sqrt(x[0])

    result = minimize(
        guarded, [5.0, -3.0], bounds=Bounds(lower, upper),
        constraints=NonlinearConstraint(lambda x: guarded(x) * 0.0 + x[0] * x[1], -np.inf, 0.5),
    )  # fmt: skip
    assert result.success and result.failures == 0


def test_limits_and_best_point():
    known = rosenbrock("inequality")
    short = minimize(
        known.fun, known.x0, jac=known.jac, constraints=known.constraints, options={"maxiter": 3}
    )
    assert short.status == Status.ITERATION_LIMIT.number and short.nit == 3 and not short.success
    assert short.fun <= known.fun(np.array(known.x0))
    few = minimize(known.fun, known.x0, constraints=known.constraints, maxfev=10)
    assert few.status == Status.EVALUATION_LIMIT.number
    quick = minimize(known.fun, known.x0, max_time=1e-9)
    assert quick.status == Status.TIME_LIMIT.number


def test_callbacks_and_stop_iteration():
    known = rosenbrock("free")
    seen, points = [], []

    def new_style(intermediate_result):
        seen.append(intermediate_result)

    def old_style(xk):
        points.append(xk)
        if len(points) == 3:
            raise StopIteration

    result = minimize(known.fun, known.x0, jac=known.jac, callback=new_style)
    assert seen[0].fun == known.fun(np.array(known.x0)) and len(seen) == result.nit
    assert {"x", "fun", "maxcv", "nit", "stationarity", "multipliers"} <= set(seen[0])
    stopped = minimize(known.fun, known.x0, jac=known.jac, callback=old_style)
    assert stopped.status == Status.CALLBACK.number and len(points) == 3


def test_as_a_scipy_method():
    known = rosenbrock("equality and inequality")
    for jac in (known.jac, None):
        result = scipy.optimize.minimize(
            known.fun, known.x0, jac=jac, bounds=known.bounds, constraints=known.constraints,
            method=minimize, tol=1e-7, options={"maxiter": 100},
        )  # fmt: skip
        check(known, result)
    both = scipy.optimize.minimize(
        lambda x: (known.fun(x), known.jac(x)),
        known.x0,
        jac=True,
        method=minimize,
        bounds=[(0, 0.5), (None, 3)],
    )
    assert both.success and both.njev == both.nfev - sum(row["trials"] - 1 for row in both.history[1:])


def test_scipy_forms_give_one_answer():
    forms = [
        LinearConstraint([1.0, 1.0], 1.0, 2.0),
        NonlinearConstraint(lambda x: x[0] + x[1], 1.0, 2.0),
        ({"type": "ineq", "fun": lambda x, a: a - x[0] - x[1], "args": (2.0,)},),
        Constraint(lambda x: x[0] + x[1], "<", 2.0),
    ]
    for form in forms:
        np.testing.assert_allclose(minimize(quadratic, [0.0, 0.0], constraints=form).x, [1.5, 0.5], atol=1e-6)


def test_sparse_jacobians_and_the_dense_limit(monkeypatch):
    matrix = sparse.csr_array(np.eye(4))
    form = LinearConstraint(matrix, 0.5, np.inf)
    result = minimize(lambda x: x @ x, np.ones(4) * 3, jac=lambda x: 2 * x, constraints=form)
    np.testing.assert_allclose(result.x, 0.5, atol=1e-8)
    np.testing.assert_allclose(result.multipliers["constraint 0"], -1.0, atol=1e-6)
    monkeypatch.setattr(module, "DENSE_LIMIT", 10)
    with pytest.raises(ValueError, match=r"dense and takes matrices up to 10 entries; got 4 free variables"):
        minimize(lambda x: x @ x, np.ones(4), constraints=form)


def test_all_variables_fixed():
    result = minimize(quadratic, [0.0, 0.0], bounds=[(1.0, 1.0), (2.0, 2.0)])
    assert result.success and result.fun == quadratic(np.array([1.0, 2.0]))
    bad = minimize(quadratic, [0.0, 0.0], bounds=[(1.0, 1.0)] * 2, constraints=Constraint(sum, "<", 1.0))
    assert bad.status == Status.INFEASIBLE.number


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"method": "newton"}, r"`minimize\(method=...\)` must be one of 'sqp', 'penalty', 'multiplier'"),
        ({"tol": -1.0}, r"`minimize\(tol=...\)` must be positive and finite; got -1.0"),
        ({"x0": [np.nan]}, r"`minimize\(x0=...\)` must be finite"),
        ({"x0": [[1.0]]}, r"`minimize\(x0=...\)` must have one axis"),
        ({"options": {"maxiter": 0}}, r"'maxiter'.*must be positive; got 0"),
    ],
)
def test_errors_name_call_argument_and_value(arguments, message):
    with pytest.raises(ValueError, match=message):
        minimize(**{"fun": quadratic, "x0": [1.0, 1.0], **arguments})


def test_unknown_options_warn():
    with pytest.warns(scipy.optimize.OptimizeWarning, match="'ftol'"):
        minimize(quadratic, [1.0, 1.0], options={"ftol": 1e-9})


def test_mistakes_in_the_program_are_passed_on():
    with pytest.raises(NameError):
        minimize(lambda x: undefined_name, [1.0])  # noqa: F821


def test_tolerance_is_honoured():
    known = rosenbrock("free")
    loose = minimize(known.fun, known.x0, jac=known.jac, tol=1e-2)
    tight = minimize(known.fun, known.x0, jac=known.jac, tol=1e-9)
    assert loose.success and tight.success and tight.kkt["stationarity"] <= 1e-9
    assert loose.njev < tight.njev


@pytest.mark.slow
def test_a_hundred_variables_two_hundred_rows():
    rng = np.random.default_rng(0)
    n, m = 100, 200
    target, A = rng.normal(size=n), rng.normal(size=(m, n))
    result = minimize(
        lambda x: float(((x - target) ** 4).sum() + x @ x),
        np.zeros(n),
        jac=lambda x: 4.0 * (x - target) ** 3 + 2.0 * x,
        constraints=LinearConstraint(A, -np.inf, 0.5 * np.abs(A @ target) + 0.1),
    )
    assert result.success


def test_quadratic_gradient_is_right():
    assert scipy.optimize.check_grad(quadratic, quadratic_gradient, np.array([0.3, 0.4])) < 1e-6


@pytest.mark.parametrize("n", [2, 5, 10])
def test_differences_are_refined_where_forward_ones_are_too_coarse(n):
    """Forward differences err by 1e-5 in Rosenbrock's valley, ten times the tolerance."""
    start = np.tile([-1.2, 1.0], n)[:n]
    result = minimize(scipy.optimize.rosen, start)
    assert result.success
    assert result.fun < 1e-13
    coarse = minimize(scipy.optimize.rosen, start, jac="2-point")
    assert result.nfev < 1.2 * coarse.nfev
