"""One start, wherever it is computed: screen the candidates, solve from the best, stop in known basins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..problem.canonical import stack_rows
from ..problem.evaluation import Evaluation
from ..problem.scipy_forms import read_constraints
from ..solve.minimize import minimize
from ..solve.options import Options
from ..solve.result import History, Result
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
        return Evaluation("search", self.fun, blocks, jac=self.jac, args=self.args, forgiving=True)


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
    failures : candidates at which a function failed
    interrupted : whether the user did that
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
    interrupted: bool = False


def merits(objectives: Array, violations: Array, weights: Array) -> Array:
    """Objective + weighted violations, (K,); infinite where a function failed."""
    if not len(objectives):
        return objectives
    total = objectives + violations @ (weights if weights.size else np.ones(violations.shape[1]))
    return np.where(np.isnan(total), np.inf, total)


def work(statement: Statement, task: Task, stopped: Callable[[], bool] = lambda: False) -> Answer:
    """Choose the start and solve from it."""
    lonely = len(task.points) == 1 and task.rival is None
    points = task.points[:0] if lonely else task.points
    objectives, violations, failures = _screen(statement, points)
    if lonely:
        chosen, start = 0, task.points[0]
    else:
        merit = merits(objectives, violations, task.weights)
        chosen = int(np.argmin(merit)) if merit.size else -1
        if task.rival is not None and (chosen < 0 or task.rival_merit <= merit[chosen]):
            chosen, start = -1, task.rival
        else:
            start = points[chosen]
    watcher = _Watcher(statement.box, task, start, stopped)
    interrupted = False
    try:
        result = _solve(statement, task, start, len(points), watcher)
    except KeyboardInterrupt:
        result, interrupted = _unfinished(statement.box.point(start), watcher.last), True
    return Answer(
        task.kind, task.rival_index, start, chosen, points, objectives, violations, result,
        watcher.into, failures, interrupted,
    )  # fmt: skip


def _screen(statement: Statement, points: Array) -> tuple[Array, Array, int]:
    """Objectives (K,) and violations (K, m) at candidates, NaN where a function failed, and how often."""
    if not len(points):
        return np.zeros(0), np.zeros((0, 0)), 0
    evaluation = statement.evaluation()
    x = np.array([statement.box.point(point) for point in points])
    if statement.vectorized:
        objectives, columns = evaluation.population(x.T)
        values = list(columns.T)
    else:
        pairs = [evaluation.values(point) for point in x]
        objectives, values = np.array([f for f, _ in pairs]), [c for _, c in pairs]
    rows = stack_rows("search", evaluation.blocks, evaluation.sizes or [0] * len(evaluation.blocks))
    size = sum(evaluation.sizes or [])
    violations = np.array(
        [rows.violations(rows.errors(c if c.size == size else np.full(size, np.nan))) for c in values]
    )
    return objectives, violations.reshape(len(points), len(rows)), evaluation.failures


def _solve(statement: Statement, task: Task, start: Array, spent: int, watcher: _Watcher) -> Result:
    options = dict(statement.options)
    options["maxfev"] = max(1.0, min(options.get("maxfev", np.inf), task.maxfev - spent))
    options["maxiter"] = min(options.get("maxiter", Options.maxiter), task.maxiter)
    options["max_time"] = max(1e-9, min(options.get("max_time", np.inf), task.max_time))
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
    """Stops a solve that runs into a known minimum, and keeps the last iterate."""

    box: Box
    task: Task
    start: Array
    stopped: Callable[[], bool]
    last: Result | None = None
    into: int = -1
    reach: Array = field(init=False)  # (M,) how near to each minimum counts as running into it

    def __post_init__(self) -> None:
        distances = np.linalg.norm(self.task.minima - self.start, axis=1)
        radius = HOP_BASIN if self.task.hop else np.minimum(BASIN, BASIN_SHARE * distances)
        self.reach = np.maximum(NEAR * radius * np.ones(len(distances)), NEAREST)

    def __call__(self, intermediate_result: Result) -> None:
        self.last = intermediate_result
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


def _unfinished(x: Array, last: Result | None) -> Result:
    """What is known of a solve that was interrupted; its evaluations are not counted."""
    row: dict[str, Any] = {} if last is None else dict(last)
    violation = row.get("maxcv", np.inf)
    return Result(
        x=row.get("x", x),
        fun=row.get("fun", np.nan),
        jac=np.full(x.size, np.nan),
        success=False,
        status=Status.CALLBACK.number,
        message="Interrupted: the last iterate of an unfinished solve.",
        nit=row.get("nit", 0),
        nfev=0,
        njev=0,
        nhev=0,
        maxcv=violation,
        multipliers={"bounds": np.zeros(x.size)},
        multiplier_vector=np.zeros(0),
        errors=np.zeros(0),
        violations=np.zeros(0),
        targets=np.zeros(0),
        labels=[],
        kkt={
            "stationarity": row.get("stationarity", np.inf),
            "feasibility": violation,
            "complementarity": np.inf,
        },
        active=[],
        conflict=[],
        failures=0,
        history=History(),
    )
