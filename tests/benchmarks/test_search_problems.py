"""The 41 problems of benchmarks/search.py: each is what it should be at its best known point."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.search_problems import G20, PROBLEMS, turned
from benchmarks.search_problems.counting import Counted, Over

from softpenalty import minimize, search

# Published values allow |h| ≤ 1e-4, which lowers these objectives by so much at most.
ALLOWED = {"g03": 1e-3, "g11": 2e-4, "g13": 2e-4, "g14": 1e-4, "g21": 4e-4, "g22": 3e-4, "g23": 2e-4}
ROUNDED = 2e-6  # digits that other published values are given to


def test_there_are_41_and_12_have_many_minima() -> None:
    assert len(PROBLEMS) == 41
    assert sum(problem.many for problem in PROBLEMS.values()) == 12


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_best_point_is_feasible_and_has_the_published_value(name: str) -> None:
    problem = PROBLEMS[name]
    f, violation = problem.measure(problem.solution)
    assert violation <= 1e-7  # a tenth of what the judge allows
    assert f == pytest.approx(problem.published, rel=ALLOWED.get(name, ROUNDED))
    assert problem.reached(f, violation)
    assert not problem.reached(f, 2e-6)
    assert not problem.reached(f + 2e-4 * abs(f), violation)


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_near_the_best_point_is_better(name: str) -> None:
    problem = PROBLEMS[name]
    counted = Counted(problem, np.inf, until_reached=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = minimize(
            counted.fun,
            problem.solution,
            bounds=counted.bounds,
            constraints=counted.constraints(),
            maxiter=30,
        )
    f, violation = problem.measure(result.x)
    assert violation > 1e-7 or f >= problem.best - 1e-6 * max(abs(problem.best), 1e-3)


def test_each_point_counts_once_for_all_functions() -> None:
    counted = Counted(PROBLEMS["g05"], 3)
    x = PROBLEMS["g05"].bounds.mean(axis=1)
    counted.fun(x), counted.inequalities(x), counted.equalities(x)
    assert counted.nfev == 1
    counted.fun(x + 0.1), counted.fun(x + 0.2)
    with pytest.raises(Over):
        counted.fun(x + 0.3)
    assert counted.hit is None


def test_reaching_the_best_ends_the_run() -> None:
    counted = Counted(PROBLEMS["bird"], 100)
    with pytest.raises(Over):
        counted.fun(PROBLEMS["bird"].solution)
    assert counted.hit == 1


def test_the_turned_function_has_its_minimum_at_zero() -> None:
    problem = turned(0)
    assert problem.measure(np.zeros(8)) == (0.0, 0.0)
    assert problem.best == 0.0


def test_no_success_is_claimed_on_g20() -> None:
    """No feasible point of it is known."""
    counted = Counted(G20, np.inf, until_reached=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = search(counted.fun, counted.bounds, counted.constraints(), rng=0, maxfev=3000)
    assert not result.success
    assert result.minima == []
