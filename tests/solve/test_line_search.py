"""The line search along a line made for it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from softpenalty.solve.sqp.line_search import (
    ARMIJO,
    MAX_TRIALS,
    RETREAT,
    SETTINGS,
    SHORTEST,
    SHRINK,
    Search,
    search,
)
from softpenalty.solve.sqp.merit import ExactMerit

NO_ROWS = np.zeros(0)


class Line:
    """A problem of one variable, f(t) and row errors r(t), that remembers where it was asked."""

    spacing = float(np.finfo(float).eps)  # of the values
    lower, upper = np.array([-np.inf]), np.array([np.inf])

    def __init__(
        self,
        f: Callable[[float], float],
        r: Callable[[float], list[float]] = lambda t: [],
        differentiable: Callable[[float], bool] = lambda t: True,
    ) -> None:
        self.f, self.r, self.differentiable = f, r, differentiable
        self.tried: list[float] = []
        self.differentiated: list[float] = []

    def at(self, x: np.ndarray) -> Any:
        t = float(x[0])
        self.tried.append(t)
        r = np.array(self.r(t), dtype=float)
        return SimpleNamespace(x=x, f=self.f(t), r=r, length=np.ones(r.size))

    def spaced(self) -> float:
        return self.spacing

    def moved(self, x: np.ndarray, d: np.ndarray, t: float) -> np.ndarray:
        return x + t * d

    @property
    def floor(self) -> np.ndarray:
        return np.zeros(len(self.r(0.0)))

    def differentiate(self, point: Any) -> bool:
        self.differentiated.append(float(point.x[0]))
        return self.differentiable(float(point.x[0]))

    def search(
        self,
        predicted: float,
        t: float = 1.0,
        weight: float = 1.0,
        far: float = np.inf,
        lengthen: bool = False,
    ) -> Search:
        start = self.at(np.zeros(1))
        self.tried.clear()
        m = start.r.size
        merit = ExactMerit(np.full(m, weight), np.zeros(m, dtype=bool))
        return search(self, start, np.ones(1), merit, predicted, t, far, np.ones(m), lengthen, SETTINGS)


def test_a_full_step_that_keeps_its_promise_is_taken():
    line = Line(lambda t: -t)
    found = line.search(predicted=1.0)
    assert (found.t, found.trials) == (1.0, 1)
    assert found.point.x[0] == 1.0
    assert line.differentiated == [1.0]


@pytest.mark.parametrize("share, taken", [(1.01, True), (0.99, False)])
def test_armijo_is_the_border(share, taken):
    line = Line(lambda t: -share * ARMIJO if t == 1.0 else (0.0 if t == 0.0 else -1.0))
    assert (line.search(predicted=1.0).t == 1.0) is taken


def test_changes_below_rounding_are_accepted_but_no_larger_ones():
    def rising(by: float) -> Line:
        return Line(lambda t: 1.0 + (by if t > 0 else 0.0))

    assert rising(5e-14).search(predicted=0.0).t == 1.0
    assert rising(5e-12).search(predicted=0.0).point is None


def test_the_penalty_counts_as_much_as_the_objective():
    # f falls by 1 and the row is broken by 1: worth it at weight 0.5, not at weight 2
    line = Line(lambda t: -t, lambda t: [t])
    assert line.search(predicted=0.5, weight=0.5).t == 1.0
    assert line.search(predicted=0.5, weight=2.0).point is None


def test_a_violation_that_falls_is_a_gain():
    line = Line(lambda t: 0.5 * t, lambda t: [1.0 - t])
    assert line.search(predicted=1.5, weight=2.0).t == 1.0
    assert line.search(predicted=1.5, weight=0.4).point is None


def test_interpolation_hits_the_minimum_of_a_parabola():
    # f = t² − 0.6t has its minimum at 0.3 and slope −0.6; the full step is refused
    line = Line(lambda t: t * t - 0.6 * t)
    found = line.search(predicted=0.6)
    assert found.t == pytest.approx(0.3)
    assert line.tried == [1.0, pytest.approx(0.3)]


@pytest.mark.parametrize("curvature, factor", [(1e4, SHRINK[0]), (1.05, 0.5 / 1.05)])
def test_interpolation_is_kept_within_limits(curvature, factor):
    line = Line(lambda t: curvature * t * t - t)
    line.search(predicted=1.0)
    assert line.tried[1] == pytest.approx(factor)


def test_interpolation_shortens_by_half_at_least():
    # just short of the promise: the parabola's minimum is a little beyond one half
    line = Line(lambda t: -0.9 * ARMIJO if t == 1.0 else -t)
    assert line.search(predicted=1.0).t == SHRINK[1]


def test_undefined_points_are_retreated_from_by_a_quarter_each():
    line = Line(lambda t: np.nan if t > 0.1 else -t)
    found = line.search(predicted=1.0)
    assert line.tried == [1.0, RETREAT, RETREAT**2]
    assert found.t == RETREAT**2


def test_points_without_derivatives_are_retreated_from():
    line = Line(lambda t: -t, differentiable=lambda t: t < 0.5)
    found = line.search(predicted=1.0)
    assert line.differentiated == [1.0, RETREAT]
    assert found.point.x[0] == RETREAT


def test_refused_points_are_never_differentiated():
    line = Line(lambda t: t * t - 0.6 * t)
    line.search(predicted=0.6)
    assert line.differentiated == [pytest.approx(0.3)]


def test_points_that_are_too_far_out_are_not_accepted():
    # the merit falls all the way, but the row is broken by more than `far`
    line = Line(lambda t: -1e6 * t, lambda t: [100.0 * t])
    assert line.search(predicted=1e6).t == 1.0
    found = line.search(predicted=1e6, far=5.0)
    assert found.point.r[0] <= 5.0
    assert line.tried == [1.0, SHRINK[0], pytest.approx(SHRINK[0] ** 2)]


def test_a_direction_that_rises_is_given_up_at_the_shortest_step():
    line = Line(lambda t: t)
    found = line.search(predicted=1.0)
    assert found.point is None
    assert found.t < SHORTEST
    assert min(line.tried) >= SHORTEST
    assert found.trials == len(line.tried) <= MAX_TRIALS


def test_the_first_length_is_where_the_search_begins():
    line = Line(lambda t: -t)
    assert line.search(predicted=1.0, t=0.125).t == 0.125
    assert line.tried == [0.125]


def test_coarse_values_are_compared_as_far_as_they_go():
    """A rise by half a spacing of single precision cannot be told from none."""
    line = Line(lambda t: 1.0 + 1e-8 * t)
    line.spacing = float(np.finfo(np.float32).eps)
    assert line.search(predicted=1e-9).t == 1.0
    line.spacing = float(np.finfo(float).eps)
    assert line.search(predicted=1e-9).t < 1e-4  # only changes of less than 1e-13 pass


@pytest.mark.parametrize("minimum", [2.5, 7.0])
def test_values_lead_to_the_minimum_of_a_parabola_by_one_gradient(minimum):
    line = Line(lambda t: (t - minimum) ** 2)
    found = line.search(predicted=2.0 * minimum, lengthen=True)
    assert line.tried == [1.0, pytest.approx(minimum)]
    assert line.differentiated == [pytest.approx(minimum)]
    assert found.t == pytest.approx(minimum) and found.trials == 2


@pytest.mark.parametrize("minimum", [0.6, 1.0, 1.9])
def test_a_step_that_is_nearly_long_enough_stays(minimum):
    line = Line(lambda t: (t - minimum) ** 2)
    assert line.search(predicted=2.0 * minimum, lengthen=True).t == 1.0
    assert line.tried == [1.0]


def test_a_longer_step_that_is_no_better_is_not_taken():
    line = Line(lambda t: -t if t < 1.5 else 10.0)
    found = line.search(predicted=1.0, lengthen=True)
    assert found.t == 1.0 and found.trials == 2
    assert line.differentiated == [1.0]


def test_a_longer_step_that_is_not_defined_is_not_taken():
    line = Line(lambda t: -t if t < 1.5 else np.nan)
    assert line.search(predicted=1.0, lengthen=True).t == 1.0


def test_no_longer_step_leaves_the_bounds():
    line = Line(lambda t: (t - 5.0) ** 2)
    line.upper = np.array([3.0])
    assert line.search(predicted=10.0, lengthen=True).t == 1.0
    assert line.tried == [1.0]


def test_rounding_calls_for_no_longer_step():
    line = Line(lambda t: 1.0)  # what is left of a fall of 1e-14
    assert line.search(predicted=1e-14, lengthen=True).t == 1.0
    assert line.tried == [1.0]


def test_where_a_longer_step_has_no_derivatives_a_shorter_one_is_tried():
    line = Line(lambda t: (t - 5.0) ** 2, differentiable=lambda t: t < 2.0)
    found = line.search(predicted=10.0, lengthen=True)
    assert found.t == pytest.approx(5.0 * RETREAT)
