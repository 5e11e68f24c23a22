"""What a solve does when things go wrong: another merit, more weight, a fresh matrix, a second attempt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from softpenalty import Constraint, minimize
from softpenalty.solve.sqp import loop as sqp
from softpenalty.solve.sqp.merit import (
    ALPHA,
    BALANCED_SHARE,
    EXACT_GOAL,
    EXACT_SHARE,
    BalancedMerit,
    ExactMerit,
    choose,
    weigh_step,
)
from softpenalty.solve.sqp.points import Point
from softpenalty.solve.sqp.recovery import MAX_RESTARTS
from softpenalty.solve.sqp.state import FIRST, SECOND, Ending, Iterate, linearize, rank
from softpenalty.solve.sqp.subproblem.steering import Step, Subproblem
from softpenalty.solve.status import Status
from softpenalty.solve.tolerances import Tolerances
from softpenalty.solve.watch import Watch


def on_a_circle() -> Any:
    """Along a circle from (−1, 0), which every step leaves."""
    circle = Constraint(lambda x: x[0] ** 2 + x[1] ** 2, "=", 1.0, jac=lambda x: [2.0 * x[0], 2.0 * x[1]])
    return minimize(
        lambda x: x[0] + 2.0 * x[1], [-1.0, 0.0], jac=lambda x: np.array([1.0, 2.0]), constraints=circle
    )


def in_a_cusp() -> Any:
    """x³ ≤ y and y² ≤ x, which meet at (1, 1), from far outside."""
    cusp = Constraint(
        lambda x: np.array([x[0] ** 3 - x[1], x[1] ** 2 - x[0]]),
        "<",
        np.zeros(2),
        jac=lambda x: np.array([[3.0 * x[0] ** 2, -1.0], [-1.0, 2.0 * x[1]]]),
    )
    return minimize(
        lambda x: (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 4,
        [10.0, 0.1],
        jac=lambda x: np.array([2.0 * (x[0] - 2.0), 4.0 * (x[1] - 1.0) ** 3]),
        constraints=cusp,
    )


def watch(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, saw: list[Any]) -> None:
    """Keep (arguments, result) of every call."""
    original = getattr(owner, name)

    def watched(*arguments: Any) -> Any:
        result = original(*arguments)
        saw.append((arguments, result))
        return result

    monkeypatch.setattr(owner, name, watched)


def test_the_merit_is_balanced_where_that_promises_enough_and_else_exact():
    """Steps of a QP promise enough; at random ones both happen."""
    rng, kinds = np.random.default_rng(0), set()
    for _ in range(50):
        y, d, g, r, lengths = *rng.normal(size=(4, 3)), rng.uniform(0.5, 2.0, 3)
        equality = rng.random(3) < 0.5
        floor = np.where(equality, -1.0, 0.0)
        local = linearize(Point(np.zeros(3), 0.0, r, g, np.diag(lengths), lengths), floor)
        step = Step(d, y, np.zeros(3), equality, True)
        point = Point(np.zeros(3), 0.0, r, g, np.diag(lengths), lengths)
        shares = 2.0, EXACT_SHARE, EXACT_GOAL
        plan = weigh_step(point, float(d @ d), local, step, floor, np.zeros(3), *shares)
        merit, fall = choose(equality, local, step, plan, ALPHA, BALANCED_SHARE)
        balanced = BalancedMerit(y, plan.weights, equality, ALPHA)
        promised = balanced.penalty(local.b) - balanced.penalty(local.b + plan.change) - plan.slope
        if promised >= BALANCED_SHARE * plan.curved:
            assert isinstance(merit, BalancedMerit)
            assert fall == promised
        else:
            assert isinstance(merit, ExactMerit)
            assert fall == plan.predicted
        kinds.add(type(merit))
    assert kinds == {BalancedMerit, ExactMerit}


def test_steps_along_a_circle_are_accepted():
    result = on_a_circle()
    assert result.success
    np.testing.assert_allclose(result.x, -np.array([1.0, 2.0]) / np.sqrt(5.0), atol=1e-6)


def test_weights_are_raised_until_the_step_promises_a_fall(monkeypatch):
    saw: list[Any] = []
    watch(monkeypatch, sqp.Attempt, "weigh", saw)
    result = in_a_cusp()
    assert result.success
    np.testing.assert_allclose(result.x, 1.0, atol=1e-5)
    for (attempt, local, step), plan in saw:
        assert (plan.weights >= attempt.strategy.weight * np.abs(step.y)).all()
        fall = local.v - np.maximum(local.b + plan.change, 0.0)
        assert plan.predicted == pytest.approx(float(plan.weights @ fall) - plan.slope, rel=1e-9, abs=1e-12)
        if fall.sum() > 0.0:
            # rounding of the sums is what separates the two sides at worst
            assert plan.predicted >= EXACT_SHARE * plan.curved * (1.0 - 1e-9)


def test_weights_that_promise_too_little_are_raised_to_the_goal():
    one, none = np.ones(1), np.zeros(1)
    # One row, met by a step of −1 along which nothing else changes; a curvature of 10 asks for more than 2·y.
    for y, expected in ((0.1, EXACT_GOAL * 10.0), (4.0, 2.0 * 4.0)):
        point = Point(none, 0.0, one, none, np.ones((1, 1)), one)
        step = Step(-one, y * one, none, np.array([True]), True)
        shares = 2.0, EXACT_SHARE, EXACT_GOAL
        plan = weigh_step(point, 10.0, linearize(point, none), step, none, none, *shares)
        assert (plan.curved, plan.predicted) == (10.0, expected)
        np.testing.assert_array_equal(plan.weights, expected)


def breaking(monkeypatch: pytest.MonkeyPatch, broken: Any) -> list[int]:
    """Let the subproblem break down in the calls for which `broken(call)`; returns the calls made."""
    original, calls = Subproblem.solve, []

    def solve(self: Subproblem, *arguments: Any) -> Any:
        calls.append(len(calls))
        return None if broken(calls[-1]) else original(self, *arguments)

    monkeypatch.setattr(Subproblem, "solve", solve)
    return calls


@pytest.mark.parametrize("broken", [(0,), (2,), (1, 2, 3), (0, 2, 4)])
def test_a_subproblem_that_breaks_down_is_begun_again_with_a_fresh_matrix(monkeypatch, broken):
    usual = in_a_cusp()
    breaking(monkeypatch, lambda call: call in broken)
    result = in_a_cusp()
    assert result.success
    np.testing.assert_allclose(result.x, usual.x, atol=1e-6)


def test_a_subproblem_that_always_breaks_down_is_given_up_soon(monkeypatch):
    calls = breaking(monkeypatch, lambda call: True)
    result = in_a_cusp()
    assert not result.success
    assert result.status == Status.NO_PROGRESS.number
    assert result.verdict == "feasible"  # all that can be had without the objective
    assert len(calls) <= 3 * (MAX_RESTARTS + 1)  # two attempts, and one more from where the rows hold


def test_two_attempts_that_fail_outside_the_rows_are_followed_by_one_from_inside(monkeypatch):
    usual = in_a_cusp()
    breaking(monkeypatch, lambda call: call < 2 * (MAX_RESTARTS + 1))
    result = in_a_cusp()
    assert result.success
    np.testing.assert_allclose(result.x, usual.x, atol=1e-5)
    numbers = result.history.column("nit")
    assert (np.diff(numbers) == 1).all() and numbers[-1] == result.nit


class Scripted:
    """Attempts whose outcomes are known beforehand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *outcomes: tuple[Status, float, float]) -> None:
        self.outcomes = list(outcomes)
        self.begun: list[tuple[Any, int]] = []
        monkeypatch.setattr(sqp, "Attempt", self)

    def __call__(self, model, strategy, curvature, tolerances, watch, iteration):
        self.begun.append((strategy, iteration))
        status, f, violation = self.outcomes[len(self.begun) - 1]
        measure = SimpleNamespace(violation=violation)
        iterate = SimpleNamespace(point=SimpleNamespace(f=f), measure=measure, iteration=iteration + 10)
        outcome = SimpleNamespace(status=status, iterate=iterate, iterations=iteration + 10)
        return SimpleNamespace(run=lambda: outcome)

    def solve(self) -> Any:
        model: Any = SimpleNamespace(n=1, m=0)
        nothing: Any = None
        return sqp.run_attempts(model, Tolerances(), nothing)


FAILED, DONE, STOPPED = Status.NO_PROGRESS, Status.CONVERGED, Status.CALLBACK


@pytest.mark.parametrize(
    "status", [s for s in Status if s not in (Status.NO_PROGRESS, Status.INFEASIBLE)], ids=lambda s: s.name
)
def test_one_attempt_is_enough_unless_it_failed(monkeypatch, status):
    script = Scripted(monkeypatch, (status, 1.0, 0.0))
    assert script.solve().status is status
    assert [strategy for strategy, _ in script.begun] == [FIRST]


@pytest.mark.parametrize("status", [Status.NO_PROGRESS, Status.INFEASIBLE], ids=lambda s: s.name)
def test_a_failure_is_tried_again_more_carefully(monkeypatch, status):
    script = Scripted(monkeypatch, (status, 1.0, 0.0), (DONE, 2.0, 0.0))
    outcome = script.solve()
    assert [strategy for strategy, _ in script.begun] == [FIRST, SECOND]
    assert script.begun[1][1] > 10  # counting goes on
    assert outcome.status is DONE
    assert outcome.iterate.point.f == 2.0  # a success, even above the first attempt's point
    assert SECOND.stiffness > FIRST.stiffness
    assert SECOND.weight > FIRST.weight


@pytest.mark.parametrize(
    "first, second, kept",
    [
        ((1.0, 0.0), (0.5, 0.0), 1),  # both feasible: the lower objective
        ((1.0, 0.0), (2.0, 0.0), 0),
        ((1.0, 1e-3), (2.0, 0.0), 1),  # the feasible one
        ((1.0, 0.0), (0.5, 1e-3), 0),
        ((1.0, 1e-3), (2.0, 1e-4), 1),  # the less violated one
        ((1.0, 1e-9), (0.5, 5e-9), 1),  # both within tolerance
    ],
)
def test_of_all_points_the_better_one_is_kept(first, second, kept):
    watch = Watch(1, np.inf, np.inf, lambda: 0)
    for f, violation in (first, second):
        point, measure = SimpleNamespace(f=f), SimpleNamespace(violation=violation)
        nothing: Any = None
        iterate = Iterate(point, nothing, nothing, measure, violation, 0.0, nothing, 0)
        watch.keep(iterate, rank(iterate, Tolerances().feasibility))
    assert watch.best.point.f == (first, second)[kept][0]


def test_two_failures_count_together(monkeypatch):
    script = Scripted(monkeypatch, (FAILED, 1.0, 0.0), (FAILED, 2.0, 0.0))
    outcome = script.solve()
    assert outcome.status is FAILED
    assert outcome.iterations > 20  # those of both


def test_the_best_point_of_two_attempts_is_returned(monkeypatch):
    """The second attempt fails at its start; the first had come closer."""
    original = sqp.Attempt.run

    def run(attempt):
        if attempt.strategy is FIRST:
            ending = original(attempt)
            return Ending(FAILED, ending.iterate, ending.iterations)
        return attempt.end(FAILED)

    monkeypatch.setattr(sqp.Attempt, "run", run)
    result = in_a_cusp()
    np.testing.assert_allclose(result.x, 1.0, atol=1e-4)
    assert result.verdict == "optimal" and result.success
