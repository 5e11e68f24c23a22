"""The way to where noise matters: the dense method, with difference steps for functions of little noise.

Far from a solution the fall of a step exceeds little noise by much. There the dense method needs fewer
simulations than models that have to learn second derivatives; it ends where steps do no more than noise does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...problem.problem import Problem
from ...problem.steps import Steps
from ...types import Array
from ..options import Options
from ..sqp.method import solve_sqp
from ..status import SUCCESSES, Status
from ..watch import Row, StopError, Watch, made

__all__ = ["LITTLE", "Begin", "approach"]

LITTLE = 1e-5  # relative noise up to which differences are good enough to begin with
MOST_POINTS = 0.5  # share of the evaluations left
STILL = 30.0  # times the noise: where the objective changes less, models need fewer points for the rest
UNSEEN = 5.0  # times the noise: a step after which no function has changed more is too short to be judged
MOST_TRIALS = 10  # of step lengths


@dataclass(frozen=True, slots=True)
class Begin:
    """Where the dense method got: x (n,), multipliers of the rows (m,), iterations, and why it ended."""

    x: Array
    y: Array
    iterations: int
    status: Status


class Approach(Watch):
    """Stops where an iteration, or a trial of a step length, changes no more than noise could.

    Parameters
    ----------
    level : (1 + k,) relative noise of objective and values, 0 for linear ones
    """

    def __init__(self, problem: Problem, watch: Watch, level: Array) -> None:
        made = watch.evaluated()
        most = made + MOST_POINTS * (watch.evaluations - made)
        super().__init__(watch.iterations, most, np.inf, watch.evaluated, watch.tell)
        self.deadline, self.rows, self.show = watch.deadline, watch.rows, watch.show
        self.calls, self.level = problem.evaluation.calls, level
        self.row: dict[str, Any] | None = None  # of the last iteration
        self.x = problem.start
        self.alone = 0  # points asked for one by one since the last batch

    def see(self, x: Array, row: Row) -> Status | None:
        """Take in an iteration at x (n,); stop where the objective stands still."""
        last, self.row, self.x = self.row, made(row), x.copy()
        fun, violation = self.row["fun"], self.row["violation"]
        if last is not None:
            still = STILL * self.level[0] * max(1.0, abs(fun))
            if abs(fun - last["fun"]) <= still and violation <= np.sqrt(self.level.max()):
                return Status.NOISY
        return super().see(x, self.row)

    def allow(self, points: int) -> None:
        """Raise StopError at a limit, and where a step is tried that became too short."""
        super().allow(points)
        self.alone = self.alone + 1 if points == 1 else 0
        if self.alone > MOST_TRIALS or (self.alone > 1 and self.unseen()):
            raise StopError(Status.NOISY)

    def unseen(self) -> bool:
        """Whether the newest point differs from the iterate by no more than noise."""
        record = self.calls.record or {}
        here = record.get(self.x.tobytes())
        if here is None:
            return False
        base, newest = np.concatenate(here), np.concatenate(next(reversed(record.values())))
        noise = UNSEEN * self.level * np.maximum(1.0, np.abs(base))
        return bool((np.abs(newest - base) <= noise)[self.level > 0.0].all())


def approach(problem: Problem, options: Options, watch: Watch, level: Array, size: Array) -> Begin:
    """Go as far as the dense method gets with differences over √noise.

    Parameters
    ----------
    level : (1 + k,) relative noise of objective and values, 0 for linear ones
    size : (n,) sizes of the variables
    """
    evaluation, rows = problem.evaluation, problem.rows
    steps, guard = evaluation.steps, evaluation.calls.guard
    told = float(np.sqrt(level.max()))
    eyes = Approach(problem, watch, level)
    evaluation.steps, evaluation.calls.guard = Steps(told * size, relative=False), eyes.allow
    try:
        outcome = solve_sqp(problem, replace(options, tol=told, constraint_tol=told), eyes)
    finally:
        evaluation.steps, evaluation.calls.guard = steps, guard
    x, y = outcome.solution.x, outcome.solution.y
    if outcome.status not in SUCCESSES and eyes.row is not None:  # the last one: noise hides which is best
        x, y = eyes.x, eyes.row["multipliers"] * rows.sign
    return Begin(x, y, outcome.iterations + 1, outcome.status)
