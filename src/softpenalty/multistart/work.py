"""One start, wherever it is computed: screen the candidates, solve from the best, stop in known basins."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..problem.canonical import stack_rows
from ..problem.evaluation import Evaluation
from ..problem.scipy_forms import read_constraints
from ..solve.minimize import minimize
from ..solve.result import Result
from ..solve.status import Status
from ..types import Array
from .box import Box

__all__ = ["SAME_LEVEL", "Answer", "Statement", "Task", "merits", "work"]

FIRST_LOOK = 2  # iteration from which on a solve may be stopped
BASIN = 0.3  # radius within which a minimum is taken to attract, at most ...
BASIN_SHARE = 0.5  # ... and of the distance between it and the start, for starts from anywhere
HOP_BASIN = 0.02  # for hops, which start close to minima
NEAR = 0.1  # share of that radius in which an iterate is taken to end in the minimum
NEAREST = 1e-4  # but at least this far
UNFINISHED = [
    status.number
    for status in (Status.EVALUATION_LIMIT, Status.TIME_LIMIT, Status.CALLBACK, Status.INTERRUPTED)
]
SAME_LEVEL = 1e-4  # objectives that differ by less, relatively, are the same level


@dataclass(frozen=True)
class Statement:
    """The problem as the user states it, ready to be sent to another process."""

    fun: Callable[..., Any]
    box: Box
    constraints: Any
    jac: Any
    args: tuple[Any, ...]
    vectorized: bool
    options: dict[str, Any]

    def evaluation(self) -> Evaluation:
        """The functions."""
        blocks = read_constraints("search", self.constraints)
        strict = self.options.get("on_failure") == "raise"
        return Evaluation(
            "search", self.fun, blocks, jac=self.jac, args=self.args, forgiving=not strict, strict=strict
        )


@dataclass(frozen=True)
class Task:
    """A start to be chosen and solved.

    Attributes
    ----------
    kind : "given", "uniform", "sample" or a kind of hop
    points : (K, k) candidates in the unit cube, of which the one of least merit is solved
    rival, rival_merit : (k,) an earlier sample that is solved unless a candidate is better, and its merit
    rival_index : its place among the samples
    weights : (m,) what a unit of each row's violation is worth, (0,) while nothing is known
    minima, levels : (M, k) points and (M,) objectives of known minima that passed `minimize`'s test
    numbers : (M,) their places in the list of minima
    hop : whether it starts from a minimum
    maxiter : iterations allowed
    maxfev, max_time : what is left
    """

    kind: str
    points: Array
    weights: Array
    minima: Array
    levels: Array
    numbers: list[int]
    rival: Array | None = None
    rival_merit: float = np.inf
    rival_index: int = -1
    hop: bool = False
    maxiter: int = 300
    maxfev: float = np.inf
    max_time: float = np.inf


@dataclass
class Answer:
    """What came of a task.

    Attributes
    ----------
    kind, rival_index : of the task
    start : (k,) where the solve began
    chosen : index of the start among the candidates, −1 for the rival
    points, objectives, violations : (K, k), (K,), (K, m) candidates that were evaluated
    result : of the solve
    into : number of the known minimum that it was running into when it was stopped, −1 otherwise
    failures, failure_messages : candidates at which a function failed, and kinds of failure with a message
    """

    kind: str
    rival_index: int
    start: Array
    chosen: int
    points: Array
    objectives: Array
    violations: Array
    result: Result
    into: int = -1
    failures: int = 0
    failure_messages: dict[str, str] = field(default_factory=dict)

    @property
    def unfinished(self) -> bool:
        """Whether a limit or the user ended the solve, so that where it was going is not known."""
        return self.into < 0 and self.result.status in UNFINISHED


def merits(objectives: Array, violations: Array, weights: Array) -> Array:
    """Objective + weighted violations, (K,); infinite where a function failed."""
    if not len(objectives):
        return objectives
    total = objectives + violations @ (weights if weights.size else np.ones(violations.shape[1]))
    return np.where(np.isnan(total), np.inf, total)


def work(statement: Statement, task: Task, stopped: Callable[[], bool] = lambda: False) -> Answer:
    """Choose the start and solve from it."""
    deadline = time.perf_counter() + task.max_time
    lonely = len(task.points) == 1 and task.rival is None
    evaluation = statement.evaluation()
    objectives, violations = _screen(
        statement, evaluation, task.points[:0] if lonely else task.points, task.weights.size, deadline
    )
    points = task.points[: len(objectives)]
    merit = merits(objectives, violations, task.weights)
    chosen = int(np.argmin(merit)) if merit.size else 0
    start = task.points[chosen] if len(task.points) else task.rival
    if task.rival is not None and (not merit.size or task.rival_merit <= merit[chosen]):
        chosen, start = -1, task.rival
    assert start is not None  # a task has candidates or a rival
    watcher = _Watcher(statement.box, task, start, stopped)
    result = _solve(statement, start, watcher, task.maxfev - len(points), deadline - time.perf_counter())
    return Answer(
        task.kind, task.rival_index, start, chosen, points, objectives, violations, result,
        watcher.into, evaluation.failures, evaluation.calls.messages,
    )  # fmt: skip


def _screen(
    statement: Statement, evaluation: Evaluation, points: Array, expected: int, deadline: float
) -> tuple[Array, Array]:
    """Objectives (K,) and violations (K, m) at candidates, as far as time allows; NaN where one failed.

    Where all failed, or there are none, nobody here knows m: it is as many as `expected`.
    """
    x = np.array([statement.box.point(point) for point in points])
    if len(x) and statement.vectorized:
        objectives, columns = evaluation.population(x.T)
        pairs = list(zip(objectives, columns.T, strict=True))
    else:
        pairs = []
        for point in x:
            if not pairs or time.perf_counter() < deadline:
                pairs.append(evaluation.values(point))
    objectives = np.array([f for f, _ in pairs])
    if evaluation.sizes is None:
        return objectives, np.full((len(pairs), expected), np.nan)
    rows, size = stack_rows("search", evaluation.blocks, evaluation.sizes), sum(evaluation.sizes)
    unknown = np.full(size, np.nan)
    violations = [rows.violations(rows.errors(c if c.size == size else unknown)) for _, c in pairs]
    return objectives, np.array(violations).reshape(len(pairs), len(rows))


def _solve(statement: Statement, start: Array, watcher: _Watcher, maxfev: float, seconds: float) -> Result:
    options = dict(statement.options)
    options["maxfev"] = max(1.0, min(options.get("maxfev", np.inf), maxfev))
    options["maxiter"] = min(options.get("maxiter") or watcher.task.maxiter, watcher.task.maxiter)
    options["max_time"] = max(1e-9, min(options.get("max_time", np.inf), seconds))
    return minimize(
        statement.fun,
        statement.box.point(start),
        statement.args,
        jac=statement.jac,
        bounds=list(zip(statement.box.lower, statement.box.upper, strict=True)),
        constraints=statement.constraints,
        callback=watcher,
        options=options,
    )


@dataclass
class _Watcher:
    """Stops a solve that runs into a known minimum."""

    box: Box
    task: Task
    start: Array
    stopped: Callable[[], bool]
    into: int = -1
    reach: Array = field(init=False)  # (M,) how near to each minimum counts as running into it

    def __post_init__(self) -> None:
        distances = np.linalg.norm(self.task.minima - self.start, axis=1)
        radius = HOP_BASIN if self.task.hop else np.minimum(BASIN, BASIN_SHARE * distances)
        self.reach = np.maximum(NEAR * radius * np.ones(len(distances)), NEAREST)

    def __call__(self, intermediate_result: Result) -> None:
        if self.stopped():
            raise StopIteration
        if intermediate_result.nit < FIRST_LOOK or not len(self.reach):
            return
        distances = np.linalg.norm(self.task.minima - self.box.unit(intermediate_result.x), axis=1)
        worst = float(self.task.weights.max(initial=0.0))
        merit = intermediate_result.fun + worst * intermediate_result.maxcv
        better = merit < self.task.levels - SAME_LEVEL * np.abs(self.task.levels)
        into = np.flatnonzero((distances < self.reach) & ~better)
        if into.size:
            self.into = self.task.numbers[into[np.argmin(distances[into])]]
            raise StopIteration
