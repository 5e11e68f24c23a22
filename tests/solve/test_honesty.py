"""What is claimed at the end: nothing that is not so, and all that is."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.optimize import Bounds

from softpenalty import Constraint
from softpenalty.problem.canonical import stack_rows
from softpenalty.problem.evaluation import Evaluation
from softpenalty.solve.minimize import minimize
from softpenalty.solve.sqp.model import Model
from softpenalty.solve.sqp.scaling import BAND, variable_units
from softpenalty.solve.sqp.subproblem.correction import correct
from softpenalty.solve.sqp.subproblem.qp import CORNER, QP, QPSolution
from softpenalty.solve.status import Status
from softpenalty.solve.tolerances import Measure, Tolerances, attained, converged


class TestDifferencesThatFail:
    """Central differences at the solution need points at which the function is not defined."""

    @staticmethod
    def fun(x):
        if x[0] < 1.0 - 1e-7:
            raise ValueError("left of the domain")
        return (x[0] - 1.0) ** 2 + x[1] ** 4 + 0.5 * x[1] ** 2

    def test_the_solution_keeps_its_derivatives(self):
        result = minimize(self.fun, [2.0, 1.0])
        assert np.isfinite(result.jac).all()
        assert result.success, result.message
        np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-6)

    def test_refine_leaves_everything_as_it_was(self):
        def strip(x):
            if abs(x[0] - 1.0) > 1e-7:
                raise ValueError("no room for any central difference")
            return self.fun(x)

        evaluation = Evaluation("minimize", strip, [], forgiving=True)
        x = np.array([1.0, 0.3])
        before = evaluation.derivatives(x)[0]
        assert not evaluation.refine(x)
        assert evaluation.derivatives(x)[0] is before
        model = Model(evaluation, stack_rows("minimize", [], []), np.full(2, -np.inf), np.full(2, np.inf), x)
        point = model.at(x)
        assert model.differentiate(point)
        assert not model.refine(point)
        np.testing.assert_array_equal(point.g, before)


def kink(x):
    return abs(x[0] - 0.3) + abs(x[1] + 0.2) + 0.1 * x[0] ** 2


def kink_gradient(x):
    return np.array([np.sign(x[0] - 0.3) + 0.2 * x[0], np.sign(x[1] + 0.2)])


class TestSecondAttempt:
    """A kink makes the first attempt fail, so a second one follows."""

    def test_iterations_never_run_backwards(self):
        result = minimize(kink, [3.0, 2.0], jac=kink_gradient)
        assert not result.success
        assert (np.diff(result.history.column("nit")) > 0).all()

    def stop_in_the_second(self, **arguments):
        whole = minimize(kink, [3.0, 2.0], jac=kink_gradient)
        starts = np.flatnonzero(whole.history.column("fun") == whole.history[0]["fun"])
        second = int(whole.history[int(starts[-1])]["nit"])
        assert second > 0, "there is no second attempt to be stopped"
        return second

    def test_a_callback_that_stops_it_is_named(self):
        second = self.stop_in_the_second()

        def callback(intermediate_result):
            if intermediate_result.nit >= second:
                raise StopIteration

        result = minimize(kink, [3.0, 2.0], jac=kink_gradient, callback=callback)
        assert result.status == Status.CALLBACK.number
        assert result.message.startswith("Stopped by the callback")

    def test_a_limit_that_stops_it_is_named(self):
        second = self.stop_in_the_second()
        result = minimize(kink, [3.0, 2.0], jac=kink_gradient, options={"maxiter": second})
        assert result.status == Status.ITERATION_LIMIT.number


class TestSuccessAtTheSolution:
    def test_rounding_of_a_multiplier_at_an_infinite_bound(self):
        """∞ times 1e-17 is not a lack of complementarity."""
        rng = np.random.default_rng(1)
        M = rng.normal(size=(6, 6))
        H, c = M @ M.T + np.eye(6), 3.0 * rng.normal(size=6)
        bounds = Bounds([-np.inf, 0, 0, -np.inf, 0, 0], [0, np.inf, 1, np.inf, np.inf, 1])
        for factor in (1.0, 1e8, 1e-8):
            result = minimize(
                lambda x, f=factor: f * (0.5 * x @ H @ x + c @ x),
                np.full(6, 0.5),
                jac=lambda x, f=factor: f * (H @ x + c),
                bounds=bounds,
            )
            assert result.success, (factor, result.message, result.kkt)

    def test_dependent_active_rows(self):
        """Multipliers are not unique, and yet the QP is solved to the last digit."""
        rng = np.random.default_rng(0)
        n = 6
        a = rng.normal(size=(5, n))
        a = np.vstack([a, a[:3] * 2.0, -a[0] - a[1]])  # nine active rows, rank five
        row = Constraint(lambda x: a @ x, "<", np.zeros(9), jac=lambda x: a)
        y = np.array([1.0, 2.0, 0.5, 0.0, 0.3, 0.0, 0.0, 0.0, 0.7])
        g = -a.T @ y
        result = minimize(lambda x: g @ x + 0.5 * x @ x, np.zeros(n), jac=lambda x: g + x, constraints=row)
        assert result.success, result.message
        assert result.nit <= 2
        assert result.kkt["stationarity"] <= 1e-12

    def test_correct_finds_what_a_linear_system_cannot(self):
        a = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        infinite = np.full(3, np.inf)
        qp = QP(
            np.array([-2.0, -1.0]),
            np.eye(2),
            a,
            np.array([-0.5, -0.5, -3.0]),
            np.concatenate([np.zeros(3), [-9.0, -9.0]]),
            np.concatenate([infinite, [9.0, 9.0]]),
        )
        states = np.array([CORNER, CORNER, -1, 0, 0], dtype=np.int8)
        rough = QPSolution(np.array([0.5 - 1e-6, 1.0 + 1e-6]), np.array([0.9, 0.5, 0.0]), np.zeros(2), states)
        exact = correct(qp, rough)
        np.testing.assert_allclose(exact.d, [0.5, 1.0], atol=1e-12)
        assert exact.y[0] + exact.y[1] == pytest.approx(1.5, abs=1e-12)
        assert (exact.y >= 0.0).all()

    def test_attainable_accuracy_is_said_with_its_figures(self):
        """The gradient is wrong by 1e-5 of itself, so the line search finds nothing where it points to."""

        def wrong(x):
            return np.array([2.0 * (x[0] - 1.0) + 2e-6, 2e4 * (x[1] - 2.0)])

        result = minimize(lambda x: 1e6 + (x[0] - 1.0) ** 2 + 1e4 * (x[1] - 2.0) ** 2, [3.0, 1.0], jac=wrong)
        assert result.success
        np.testing.assert_allclose(result.x, [1.0, 2.0], atol=1e-3)
        if result.status == Status.ATTAINED.number:
            assert "attainable accuracy" in result.message
            assert f"{result.kkt['stationarity']:.1e}" in result.message

    def test_when_accuracy_is_attained(self):
        tolerances = Tolerances()
        good = Measure(0.0, 0.0, 1e-5, 1e-16, 1e-16, 1e-8, rounding=1e-16)
        assert attained(good, tolerances)
        assert not converged(good, tolerances)
        for spoilt in (
            Measure(1e-3, 0.0, 1e-5, 1e-16, 1e-16, 1e-8, rounding=1e-16),  # violated
            Measure(0.0, 0.0, 1e-3, 1e-16, 1e-16, 1e-8, rounding=1e-16),  # far from stationary
            Measure(0.0, 0.0, 1e-5, 1e-16, 1e-16, 1e-8, rounding=1e-16, by_variable=1e-3),  # of one variable
            Measure(0.0, 0.0, 1e-5, 1e-12, 1e-16, 1e-8, rounding=1e-16),  # something to gain
            Measure(0.0, 0.0, 1e-5, 1e-16, 1e-12, 1e-8, rounding=1e-16),
            Measure(0.0, 0.0, 1e-5, 1e-16, 1e-16, 1e-8, noise=0.1, rounding=1e-16),  # nothing known
        ):
            assert not attained(spoilt, tolerances)


class TestUnits:
    @pytest.mark.parametrize("exponent", [-8, -5, 5, 8])
    def test_one_variable_in_other_units(self, exponent):
        """min (u₀ − 1)² + (u₁ − 2)² + u₀u₁ with u₁ = x₁/D from a start of size one in u."""
        D = np.array([1.0, 10.0**exponent])

        def fun(x):
            u = x / D
            return (u[0] - 1.0) ** 2 + (u[1] - 2.0) ** 2 + u[0] * u[1]

        def jac(x):
            u = x / D
            return np.array([2.0 * (u[0] - 1.0) + u[1], 2.0 * (u[1] - 2.0) + u[0]]) / D

        result = minimize(fun, D * [0.5, -0.7], jac=jac)
        assert result.success, result.message
        np.testing.assert_allclose(result.x / D, [0.0, 2.0], atol=1e-5)

    def test_large_gradient_of_one_variable_does_not_hide_the_others(self):
        """The bound holds x₀ with a multiplier of 1e10; x₁ is still to be minimized."""
        result = minimize(
            lambda x: 1e10 * x[0] + (x[1] - 3.0) ** 2,
            [1.0, 0.0],
            jac=lambda x: np.array([1e10, 2.0 * (x[1] - 3.0)]),
            bounds=[(0.0, 5.0), (None, None)],
        )
        assert result.success
        assert result.x[1] == pytest.approx(3.0, abs=1e-3)

    def test_ordinary_variables_keep_their_units(self):
        rng = np.random.default_rng(0)
        g, J, x = rng.normal(size=5), rng.normal(size=(4, 5)), rng.normal(size=5)
        units, _, _ = variable_units(g, J, x, np.full(5, -np.inf), np.full(5, np.inf))
        np.testing.assert_array_equal(units, 1.0)

    def test_units_are_powers_of_two_towards_the_size(self):
        D = np.array([1.0, 1e6, 1.0, 1e-6, 1.0])
        rng = np.random.default_rng(0)
        g, J, x = rng.normal(size=5) / D, rng.normal(size=(4, 5)) / D, D * rng.uniform(1.0, 2.0, 5)
        units, typical, sizes = variable_units(g, J, x, np.full(5, -np.inf), np.full(5, np.inf))
        np.testing.assert_array_equal(np.frexp(units)[0], 0.5)
        np.testing.assert_array_equal(sizes, x)
        np.testing.assert_allclose(np.log10(typical), np.log10(D), atol=1.0)
        # What the band leaves, within the factor that random derivatives may be off by.
        assert 1e6 / BAND / 10 <= units[1] <= 1e6 / BAND * 10
        assert 1e-6 * BAND / 10 <= units[3] <= 1e-6 * BAND * 10

    def test_a_derivative_that_happens_to_vanish_changes_no_unit(self):
        g = np.array([1.0, 1e-17, -2.0])
        units, _, _ = variable_units(
            g, np.zeros((0, 3)), np.array([1.0, 1.0, 0.5]), np.full(3, -9.0), np.full(3, 9.0)
        )
        np.testing.assert_array_equal(units, 1.0)


@pytest.mark.parametrize("constant", [0.0, 5.0])
def test_constant_objective_is_a_search_for_a_feasible_point(constant):
    result = minimize(
        lambda x: constant,
        [3.0, -1.0],
        jac=lambda x: np.zeros(2),
        constraints=Constraint(lambda x: x @ x, "<", 1.0, jac=lambda x: 2.0 * x),
    )
    assert result.success
    assert result.x @ result.x <= 1.0 + 1e-8


def test_time_is_up_inside_a_subproblem():
    """An infeasible problem of some size spends its time in elastic subproblems."""
    rng = np.random.default_rng(0)
    n, m = 120, 240
    A, b = rng.normal(size=(m, n)), rng.normal(size=m)
    rows = [Constraint(lambda x: A @ x + 1e-3 * np.sin(x).sum(), "=", b, jac=lambda x: A + 1e-3 * np.cos(x))]
    start = time.perf_counter()
    result = minimize(lambda x: x @ x, np.ones(n), jac=lambda x: 2.0 * x, constraints=rows, max_time=0.3)
    elapsed = time.perf_counter() - start
    assert result.status in (Status.TIME_LIMIT.number, Status.INFEASIBLE.number)
    assert elapsed < 3.0  # one step of a path takes 20 ms here; the machine may be busy


@pytest.mark.parametrize("curvature", [1e1, 1e4])
def test_forward_differences_are_not_enough_where_the_curvature_is_large(curvature):
    """They leave half a step times the curvature out of the gradient: 7e-5 for 1e4 (1e-6 is asked for)."""
    result = minimize(lambda x: 0.5 * curvature * (x[0] - 1.0) ** 2 + (x[1] - 2.0) ** 2, [3.0, 1.0])
    assert result.success
    gradient = np.array([curvature * (result.x[0] - 1.0), 2.0 * (result.x[1] - 2.0)])
    assert np.abs(gradient).max() <= 2e-6  # tolerance times a gradient of 1, and as much for rounding
