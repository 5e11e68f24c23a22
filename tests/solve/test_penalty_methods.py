"""The paper's own way and its repetition with balanced sigma."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import LinearConstraint, NonlinearConstraint, rosen, rosen_der

from softpenalty import Constraint, predicted_error
from softpenalty.solve.minimize import minimize
from softpenalty.solve.penalty.bfgs import Bfgs
from softpenalty.solve.status import Status

AREA = Constraint(
    lambda x: x[0] * x[1], ">", 25.0, name="area", jac=lambda x: np.array([x[1], x[0]], dtype=float)
)
METHODS = ["penalty", "multiplier"]
# A success leaves an error of 1e-6, which moves x by about as much; the objective is flat along the rows.
CLOSE = 1e-4


def perimeter(x):
    return x[0] + x[1]


def square(x):
    return float(x @ x)


def solve(fun, x0, constraints=(), **arguments):
    return minimize(fun, x0, constraints=constraints, **arguments)


# --- the answer ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("combination", ["sum", "norm"])
@pytest.mark.parametrize("method", METHODS)
def test_the_solution_is_reached(method, combination):
    result = solve(
        perimeter, [9.0, 1.0], AREA, bounds=[(0, 10), (0, 10)], method=method, combination=combination
    )
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [5.0, 5.0], atol=CLOSE)
    assert result.multipliers["area"][0] == pytest.approx(-0.2, abs=1e-5)


@pytest.mark.parametrize("combination", ["sum", "norm"])
@pytest.mark.parametrize("method", METHODS)
def test_two_active_rows(method, combination):
    """At (0.5, 0.75) the gradient is (−3, −3.5) = −1.75·(1, 2) − 1.25·(1, 0)."""
    rows = LinearConstraint([[1.0, 2.0], [1.0, 0.0]], -np.inf, [2.0, 0.5])
    result = solve(
        lambda x: (x[0] - 2.0) ** 2 + (x[1] - 2.5) ** 2, [-1.0, -1.0], rows, method=method,
        combination=combination,
    )  # fmt: skip
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [0.5, 0.75], atol=CLOSE)
    np.testing.assert_allclose(result.multiplier_vector, [1.75, 1.25], rtol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_an_equality(method):
    form = LinearConstraint([[1.0, 2.0], [2.0, 1.0]], [-np.inf, 1.0], [1.0, 1.0])
    result = solve(rosen, [-1.0, -0.5], form, jac=rosen_der, method=method)
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [0.41494475, 0.1701105], atol=CLOSE)


@pytest.mark.parametrize("kernel", ["softplus", "algebraic", "quadratic", "huber"])
@pytest.mark.parametrize("method", METHODS)
def test_every_smooth_kernel(method, kernel):
    result = solve(perimeter, [9.0, 1.0], AREA, bounds=[(0, 10)] * 2, method=method, kernel=kernel)
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [5.0, 5.0], atol=CLOSE)


@pytest.mark.parametrize("method", METHODS)
def test_a_kernel_with_a_kink_comes_near_and_claims_nothing(method):
    result = solve(perimeter, [9.0, 1.0], AREA, bounds=[(0, 10)] * 2, method=method, kernel="linear")
    assert not result.success
    np.testing.assert_allclose(result.x, [5.0, 5.0], atol=1e-2)


@pytest.mark.parametrize("kernel", ["softplus", "algebraic", "quadratic", "linear", "huber"])
@pytest.mark.parametrize("method", METHODS)
def test_an_interior_optimum_is_a_success(method, kernel):
    far = Constraint(lambda x: x[0] + x[1], "<", 10.0)
    result = solve(lambda x: (x[0] - 1) ** 2 + (x[1] - 2) ** 2, [9.0, 1.0], far, method=method, kernel=kernel)
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [1.0, 2.0], atol=CLOSE)
    assert result.multiplier_vector[0] == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_no_constraints_at_all(method):
    result = minimize(rosen, [-1.2, 1.0], jac=rosen_der, method=method)
    assert result.success
    np.testing.assert_allclose(result.x, [1.0, 1.0], atol=CLOSE)


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_objective(method):
    result = solve(lambda x: 3.0, [3.0, 1.0], Constraint(square, "<", 1.0), method=method)
    assert result.success, result.report()
    assert square(result.x) <= 1.0 + 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_a_gradient_of_zero_at_the_start_does_not_hide_the_constraint(method):
    result = solve(square, [0.0, 0.0], Constraint(lambda x: x[0] + x[1], ">", 1.0), method=method)
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [0.5, 0.5], atol=CLOSE)


@pytest.mark.parametrize("method", METHODS)
def test_a_row_that_is_flat_at_the_start(method):
    result = solve(square, [0.0, 0.0], Constraint(square, ">", 2.0), method=method)
    assert result.success, result.report()
    assert square(result.x) == pytest.approx(2.0, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_multiplier_far_beyond_the_first_sigma(method):
    """The gradient is 0.004 at the start and 108 at the solution."""
    result = solve(lambda x: x[0] ** 4, [0.1], Constraint(lambda x: x[0], ">", 3.0, name="x"), method=method)
    assert result.success, result.report()
    assert result.multipliers["x"][0] == pytest.approx(-108.0, rel=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_penalty_that_is_overrun_is_made_stronger(method):
    """x³ outruns any penalty of x from some distance on."""
    result = solve(lambda x: x[0] ** 3, [5.0], Constraint(lambda x: x[0], ">", 1.0), method=method)
    assert result.success, result.report()
    assert result.x[0] == pytest.approx(1.0, abs=CLOSE)


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("method", METHODS)
def test_units_of_rows_and_objective_do_not_matter(method, factor):
    row = Constraint(lambda x: factor * x[0] * x[1], ">", factor * 25.0, name="area")
    scaled = solve(perimeter, [9.0, 1.0], row, bounds=[(0, 10)] * 2, method=method)
    other = solve(lambda x: factor * perimeter(x), [9.0, 1.0], AREA, bounds=[(0, 10)] * 2, method=method)
    for result in (scaled, other):
        assert result.success, result.report()
        np.testing.assert_allclose(result.x, [5.0, 5.0], atol=1e-3)
    assert factor * scaled.multipliers["area"][0] == pytest.approx(-0.2, rel=1e-4)
    assert other.multipliers["area"][0] == pytest.approx(-0.2 * factor, rel=1e-4)


# --- what the user gives is kept ----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["softplus", "algebraic"])
def test_penalty_leaves_the_predicted_error(kernel):
    options = {"sigma": 0.6, "alpha": 0.05, "kernel": kernel}
    result = solve(perimeter, [9.0, 1.0], AREA, method="penalty", options=options)
    multiplier = abs(result.multipliers["area"][0])
    expected = predicted_error(multiplier, 0.6, 0.05, ">", kernel)
    assert abs(AREA.fun(result.x) - 25.0) == pytest.approx(abs(expected), rel=1e-3)
    assert not result.success
    assert result.status == Status.ERROR_LEFT.number
    accepted = solve(
        perimeter, [9.0, 1.0], AREA, method="penalty", options={**options, "constraint_tol": 0.05}
    )
    assert accepted.success
    np.testing.assert_array_equal(accepted.x, result.x)


def test_parameters_of_a_constraint_of_its_own_are_kept():
    own = Constraint(AREA.fun, ">", 25.0, jac=AREA.jac, sigma=0.6, alpha=0.05)
    given = solve(perimeter, [9.0, 1.0], AREA, method="penalty", options={"sigma": 0.6, "alpha": 0.05})
    result = solve(perimeter, [9.0, 1.0], own, method="penalty")
    np.testing.assert_array_equal(result.x, given.x)
    assert result.status == Status.ERROR_LEFT.number


def test_a_given_alpha_is_kept_and_sigma_found():
    """x⁴ with x > 3: sigma must exceed 108; the error is the one of that alpha."""
    row = Constraint(lambda x: x[0], ">", 3.0)
    result = solve(lambda x: x[0] ** 4, [0.1], row, method="penalty", alpha=0.01)
    assert result.status == Status.ERROR_LEFT.number
    assert 1e-6 < abs(result.x[0] - 3.0) < 0.2


def test_a_given_sigma_is_kept_and_alpha_found():
    result = solve(perimeter, [9.0, 1.0], AREA, method="penalty", sigma=0.6)
    assert result.success, result.report()
    weak = solve(square, [3.0], Constraint(lambda x: x[0], ">", 1.0), method="penalty", sigma=0.1)
    assert weak.status == Status.WEAK_PENALTY.number


def test_a_penalty_that_is_too_weak_says_so():
    row = Constraint(lambda x: x[0], ">", 1.0)
    bounded = solve(square, [3.0], row, method="penalty", sigma=0.1, alpha=0.01)
    endless = solve(lambda x: x[0], [3.0], row, method="penalty", sigma=0.1, alpha=0.01)
    for result in (bounded, endless):
        assert not result.success
        assert result.status == Status.WEAK_PENALTY.number
        assert "sigma" in result.message
        assert result.nfev < 100


# --- bounds are hard ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("derivatives", ["given", "2-point", "3-point"])
@pytest.mark.parametrize("method", METHODS)
def test_no_function_is_called_outside_the_bounds(method, derivatives):
    lower, upper = np.array([0.0, 0.0, -1.0]), np.array([1.0, 2.0, -1.0])
    seen = []

    def watch(function):
        def watched(x):
            seen.append(np.array(x, dtype=float))
            return function(x)

        return watched

    def gradient(x):
        return np.array([-1.0, -3.0, 2.0 * x[2]])

    given = derivatives == "given"
    row = NonlinearConstraint(
        watch(lambda x: x[0] + x[1] ** 2), -np.inf, 1.5,
        jac=watch(lambda x: np.array([1.0, 2.0 * x[1], 0.0])) if given else derivatives,
    )  # fmt: skip
    result = solve(
        watch(lambda x: -x[0] - 3.0 * x[1] + x[2] ** 2), [5.0, -5.0, 9.0], row,
        jac=watch(gradient) if given else derivatives,
        bounds=list(zip(lower, upper, strict=True)), method=method,
    )  # fmt: skip
    assert result.success, result.report()
    assert result.failures == 0
    points = np.array(seen)
    assert len(points) > 10
    assert (points >= lower).all() and (points <= upper).all()
    # x = 0 and y = √1.5: −3 + 2y·λ = 0, and x is pressed to its lower bound by −1 + λ > 0
    np.testing.assert_allclose(result.x, [0.0, np.sqrt(1.5), -1.0], atol=CLOSE)
    multiplier = 1.5 / np.sqrt(1.5)
    assert result.multiplier_vector[0] == pytest.approx(multiplier, abs=1e-4)
    assert result.multipliers["bounds"][0] == pytest.approx(1.0 - multiplier, abs=1e-4)
    assert result.multipliers["bounds"][1] == 0.0
    assert result.kkt["stationarity"] <= 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_multipliers_of_bounds_have_the_sign_of_their_side(method):
    result = minimize(
        lambda x: 2.0 * x[0] - 3.0 * x[1] + x[2] ** 2, [0.5, 0.5, 0.5], bounds=[(0, 1), (0, 1), (-1, 1)],
        method=method,
    )  # fmt: skip
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [0.0, 1.0, 0.0], atol=CLOSE)
    np.testing.assert_allclose(result.multipliers["bounds"], [-2.0, 3.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_everything_fixed(method):
    row = Constraint(lambda x: x[0], "<", 1.0)
    fixed = {"bounds": [(0.5, 0.5)], "method": method}
    assert solve(square, [3.0], row, **fixed).success
    broken = solve(square, [3.0], Constraint(lambda x: x[0], ">", 1.0), **fixed)
    assert broken.status == Status.INFEASIBLE.number
    assert broken.nfev < 20


# --- what cannot be solved is a status ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fun", "jac"),
    [
        (lambda x: x[0] + x[1], lambda x: [1.0, 1.0]),
        (lambda x: -(x[0] ** 2) + x[1] ** 2, lambda x: [-2.0 * x[0], 2.0 * x[1]]),
        (lambda x: -np.exp(x[0]), lambda x: [-np.exp(x[0]), 0.0]),
        (lambda x: x[0] ** 3, lambda x: [3.0 * x[0] ** 2, 0.0]),
    ],
    ids=["linear", "saddle", "exponential", "cubic"],
)
@pytest.mark.parametrize("method", METHODS)
def test_unbounded(method, fun, jac):
    above = Constraint(lambda x: x[1], ">", 0.0, jac=lambda x: [0.0, 1.0])
    result = solve(fun, [2.0, 1.0], above, jac=jac, method=method)
    assert not result.success
    assert result.status == Status.UNBOUNDED.number, result.message
    assert result.nfev < 100


@pytest.mark.parametrize(
    "rows",
    [
        Constraint(square, "<", -1.0, name="broken"),
        [Constraint(lambda x: x[0], "<", -1.0, name="broken"), Constraint(lambda x: x[0], ">", 1.0)],
        Constraint(lambda x: np.exp(x[0]), "=", -1.0, name="broken"),
    ],
    ids=["nonlinear", "linear", "equality"],
)
@pytest.mark.parametrize("method", METHODS)
def test_infeasible(method, rows):
    result = solve(perimeter, [2.0, 1.0], rows, bounds=[(-10, 10)] * 2, method=method)
    assert not result.success
    assert result.status == Status.INFEASIBLE.number, result.message
    assert any("broken" in label for label in result.conflict)
    assert result.nit < 60 and result.nfev < 200  # two of three evaluations are differences


@pytest.mark.parametrize("method", METHODS)
def test_a_runaway_does_not_raise(method):
    """The penalized function falls without limit outside; SciPy's BFGS follows it to NaN."""

    def fun(x):
        return ((x[0] - 3.0) ** 2 - 9.0) * x[1] ** 3 / (27.0 * np.sqrt(3.0))

    rows = LinearConstraint([[1 / np.sqrt(3.0), -1.0], [1.0, np.sqrt(3.0)]], [0.0, 0.0], [np.inf, 6.0])
    result = solve(fun, [1.0, 0.5], rows, method=method)
    assert result.status in {s.number for s in Status}
    assert np.isfinite(result.x).all()
    assert result.nfev < 1000


NASTY = {
    "overflow": lambda x: np.exp(50.0 * x[0] + x[1]),
    "huge": lambda x: 1e150 * (x[0] - x[1]),
    "logarithm": lambda x: np.log(x[0] + x[1]),
    "pole": lambda x: 1.0 / (x[0] - x[1]),
    "steps": lambda x: np.floor(3.0 * x[0] + x[1]),
    "waves": lambda x: 1e-8 * np.sin(30.0 * (x[0] + x[1])),
}


@pytest.mark.parametrize("row", NASTY)
@pytest.mark.parametrize("objective", NASTY)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_makes_it_raise_or_warn(method, objective, row):
    """Warnings are errors here; those of the functions themselves are the solver's to silence."""
    result = solve(
        NASTY[objective],
        [0.7, 0.2],
        Constraint(NASTY[row], "<", -0.5),
        method=method,
        maxiter=60,
        maxfev=1000,
    )
    assert result.status in {status.number for status in Status}
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("method", METHODS)
def test_points_where_a_function_fails_are_stepped_back_from(method):
    def root(x):
        if x[0] < 0.0:
            raise ArithmeticError("no root")
        return np.sqrt(x[0]) + x[1]

    result = solve(lambda x: x[0] + 3.0 * x[1] ** 2, [4.0, 2.0], Constraint(root, ">", 1.0), method=method)
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [0.5625, 0.25], atol=1e-3)
    logarithm = solve(
        lambda x: x[0] - np.log(x[0]) + x[1] ** 2 if x[0] > 0.0 else np.nan, [40.0, 3.0],
        Constraint(lambda x: x[0] + x[1], ">", 0.5), method=method,
    )  # fmt: skip
    assert logarithm.success, logarithm.report()
    np.testing.assert_allclose(logarithm.x, [1.0, 0.0], atol=1e-3)
    assert minimize(lambda x: np.nan, [1.0], method=method).status == Status.INVALID_START.number


# --- limits, callback, history ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_limits(method):
    arguments = {"constraints": AREA, "method": method}
    few = minimize(perimeter, [9.0, 1.0], maxiter=2, **arguments)
    assert few.status == Status.ITERATION_LIMIT.number and few.nit == 2
    fewer = minimize(perimeter, [9.0, 1.0], maxfev=8, **arguments)
    assert fewer.status == Status.EVALUATION_LIMIT.number
    assert fewer.nfev <= 8 + 3  # one more point with its differences

    def slow(x):
        time.sleep(0.01)
        return perimeter(x)

    late = minimize(slow, [9.0, 1.0], max_time=0.1, **arguments)
    assert late.status == Status.TIME_LIMIT.number
    assert late.nfev <= 20


@pytest.mark.parametrize("method", METHODS)
def test_callback(method):
    def stop(xk):
        raise StopIteration

    stopped = minimize(perimeter, [9.0, 1.0], constraints=AREA, method=method, callback=stop)
    assert stopped.status == Status.CALLBACK.number and stopped.nit == 1


@pytest.mark.parametrize("method", METHODS)
def test_history(method):
    seen = []

    def watch(intermediate_result):
        seen.append(intermediate_result.nit)

    result = solve(perimeter, [9.0, 1.0], AREA, method=method, callback=watch)
    assert result.success
    assert seen == list(range(1, result.nit + 1))
    np.testing.assert_array_equal(result.history.column("nit"), seen)
    assert (result.history.column("step") > 0.0).all()
    assert result.history[-1]["fun"] == result.fun


# --- sparse Jacobians ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_sparse_jacobians_stay_sparse(method, monkeypatch):
    n = 30
    pairs = scipy.sparse.kron(scipy.sparse.eye_array(n // 2), [[1.0, 1.0]], format="csr")
    rows = LinearConstraint(pairs, 1.0, np.inf)

    def refuse(*_, **__):
        raise AssertionError("made dense")

    for kind in (scipy.sparse.csr_array, scipy.sparse.csr_matrix):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    result = solve(square, np.zeros(n), rows, jac=lambda x: 2.0 * x, method=method)
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, 0.5, atol=CLOSE)


# --- the minimizer itself -----------------------------------------------------------------------------------


class Watched:
    """A function of a list of points."""

    def __init__(self, value, gradient):
        self.value, self._gradient, self.points = value, gradient, []

    def __call__(self, x):
        self.points.append(x.copy())
        return self.value(x)

    def gradient(self, x):
        return self._gradient(x)


def descend(function, x, lower=-np.inf, upper=np.inf, steps=200):
    n = len(x)
    bfgs = Bfgs(function, np.array(x, dtype=float), np.full(n, lower), np.full(n, upper))
    for _ in range(steps):
        if np.abs(bfgs.projected()).max() < 1e-8 or not bfgs.step():
            break
    return bfgs


def test_bfgs_on_rosenbrock():
    function = Watched(rosen, rosen_der)
    bfgs = descend(function, [-1.2, 1.0])
    np.testing.assert_allclose(bfgs.x, [1.0, 1.0], atol=1e-7)
    assert len(function.points) < 60


def test_bfgs_within_bounds():
    function = Watched(rosen, rosen_der)
    bfgs = descend(function, [-1.2, 0.5], -1.5, 0.5)
    points = np.array(function.points)
    assert points.min() >= -1.5 and points.max() <= 0.5
    np.testing.assert_allclose(bfgs.x, [0.5, 0.25], atol=1e-7)


def test_bfgs_learns_the_inverse():
    matrix = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 50.0]])
    function = Watched(lambda x: 0.5 * x @ matrix @ x - x.sum(), lambda x: matrix @ x - 1.0)
    bfgs = descend(function, [5.0, 5.0, 5.0])
    np.testing.assert_allclose(bfgs.x, np.linalg.solve(matrix, np.ones(3)), atol=1e-7)
    # The matrix is kept: the same function from elsewhere needs few steps.
    before = len(function.points)
    bfgs.start(function, np.array([1.0, -1.0, 0.5]))
    while np.abs(bfgs.projected()).max() > 1e-8 and bfgs.step():
        pass
    assert len(function.points) - before < 12


def test_bfgs_turns_back_from_undefined_points():
    function = Watched(
        lambda x: x[0] - np.log(x[0]) if x[0] > 0.0 else np.nan, lambda x: np.array([1.0 - 1.0 / x[0]])
    )
    bfgs = descend(function, [0.001])
    np.testing.assert_allclose(bfgs.x, [1.0], atol=1e-6)


def test_bfgs_gives_up_where_nothing_falls():
    wrong = Watched(lambda x: float(x @ x), lambda x: -2.0 * x)
    bfgs = descend(wrong, [1.0, 2.0])
    np.testing.assert_allclose(bfgs.x, [1.0, 2.0], rtol=1e-13)  # some steps of rounding
    assert len(wrong.points) < 200


def test_bfgs_lengthens_its_steps_where_the_function_bends_down():
    endless = Watched(lambda x: -float(x @ x), lambda x: -2.0 * x)
    bfgs = descend(endless, [1.0, 2.0], steps=20)
    assert np.abs(bfgs.x).max() > 1e12


# --- rounding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_sharp_corners_are_reached_whatever_rounding_does_to_the_value(scale):
    """At the last, sharp corners a step moves the gradient a lot and the value by less than rounding."""
    starts = np.random.default_rng(1).uniform(3.0, 12.0, (12, 2))
    for x0 in [np.array([9.0, 1.0]), *starts]:
        result = solve(lambda x: scale * perimeter(x), x0, AREA, method="penalty")
        assert result.success, (x0, result.message)
