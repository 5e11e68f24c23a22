import numpy as np
import pytest

from benchmarks import judge, problems

Measure, measure, solved, failure = judge.Measure, judge.measure, judge.solved, judge.failure
best_objective, false_success = judge.best_objective, judge.false_success
Problem, chain = problems.Problem, problems.chain

ACCURATE = Measure(objective=1.0, violation=1e-12, stationarity=1e-9)
SLOPPY = Measure(objective=0.9, violation=5e-7, stationarity=1e-9)
OTHER_MINIMUM = Measure(objective=2.0, violation=0.0, stationarity=1e-9)


def test_sloppy_point_with_lower_objective_does_not_make_accurate_ones_fail():
    best = best_objective("P", [SLOPPY, ACCURATE, OTHER_MINIMUM])
    assert best == 1.0
    assert all(solved(ACCURATE, best, tol) for tol in (1e-5, 1e-6, 1e-8))


def test_best_objective_falls_back_to_less_feasible_points():
    assert best_objective("P", [SLOPPY]) == 0.9
    assert best_objective("P", [Measure(0.0, 1e-3, 0.0)]) == np.inf
    assert best_objective("P", [Measure(np.inf, 0.0, 0.0), SLOPPY]) == 0.9


def test_violation_comes_first():
    assert not solved(Measure(-5.0, 2e-6, 0.0), 1.0, 1e-5)
    assert solved(SLOPPY, 1.0, 1e-6)
    assert not solved(SLOPPY, 1.0, 1e-8)  # the violation must meet the tolerance as well


@pytest.mark.parametrize("best", [1.0, 1e6, -1e6])
def test_tolerance_is_relative_to_large_objectives(best):
    tol = 1e-6
    assert solved(Measure(best + 0.9 * tol * abs(best), 0.0, 0.0), best, tol)
    assert not solved(Measure(best + 1.1 * tol * abs(best), 0.0, 0.0), best, tol)


def test_nobody_solves_a_problem_without_feasible_points():
    assert not solved(Measure(1.0, 0.5, 0.0), np.inf, 1e-5)


@pytest.mark.parametrize(
    ("claimed", "point", "expected"),
    [
        (True, ACCURATE, False),
        (True, OTHER_MINIMUM, False),  # a local minimum is an honest success
        (True, Measure(2.0, 0.0, 0.1), True),
        (False, Measure(2.0, 0.0, 0.1), False),  # no claim, no lie
        (True, Measure(1.0, 1e-3, 0.0), True),
        (True, Measure(np.inf, np.inf, np.inf), True),
        (True, Measure(1.0, 0.0, 1.0), False),  # no constraint qualification: solved, not stationary
    ],
)
def test_false_success(claimed, point, expected):
    assert false_success(claimed, point, 1.0) is expected


def test_failure_in_words():
    assert failure(Measure(np.inf, 0.0, 0.0), 1.0) == "undefined point"
    assert failure(Measure(0.0, 1e-2, 0.0), 1.0).startswith("violation")
    assert failure(OTHER_MINIMUM, 1.0).startswith("other stationary point")


def test_measure_of_known_points():
    problem = Problem(chain(4))
    inside = measure(problem, np.zeros(4))
    assert inside.objective == 4.0
    assert inside.violation == 0.0
    assert inside.stationarity > 0.1
    # Rows carry no bound of their own: 1.5² + 1.5² - 1; bounds are relative: (3 - 2) / 2.
    assert measure(problem, np.full(4, 1.5)).violation == pytest.approx(3.5)
    assert measure(problem, np.array([0.0, 0.0, 0.0, -3.0])).violation == pytest.approx(8.0)
    assert measure(problem, np.array([np.nan, 0, 0, 0])).violation == np.inf
    assert measure(problem, np.zeros(3)).violation == np.inf


def test_stationarity_needs_the_right_sign():
    """min x on x >= 0 is stationary at 0; min -x is not."""
    source = chain(2)
    source.m_nonlinear_ub, source.xl = 0, np.zeros(2)
    source.fun, source.grad = lambda x: x.sum(), lambda x: np.ones(2)
    assert measure(Problem(source), np.zeros(2)).stationarity == pytest.approx(0.0, abs=1e-14)
    source.grad = lambda x: -np.ones(2)
    assert measure(Problem(source), np.zeros(2)).stationarity == pytest.approx(np.sqrt(2))
