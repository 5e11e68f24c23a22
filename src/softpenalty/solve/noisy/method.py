"""The method "noisy": how large the noise is, the search, and what can be said about its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...problem.problem import Problem
from ...types import Array, Mask
from ..options import Options
from ..outcome import Outcome, Solution
from ..status import Status
from ..tolerances import Tolerances
from ..watch import StopError, Watch
from .approach import LITTLE, approach
from .cloud import Cloud
from .level import measured_levels, variable_sizes
from .look import MOST_VARIABLES, may_be_noisy
from .loop import LEAST_LEVEL, NoisySearch
from .uncertainty import uncertainty

__all__ = ["solve_noisy"]

LIMITS = (Status.EVALUATION_LIMIT, Status.ITERATION_LIMIT, Status.TIME_LIMIT)


def solve_noisy(problem: Problem, options: Options, watch: Watch, iteration: int = 0) -> Outcome:
    """Solve by models regressed over all points, those evaluated before among them; see `loop`.

    ``iteration`` : how many another method has made
    """
    free = np.flatnonzero(problem.lower < problem.upper)
    if not 0 < free.size <= MOST_VARIABLES:
        raise ValueError(
            f"`minimize(noise=...)` takes 1 to {MOST_VARIABLES} free variables; got {free.size}. Leave "
            "`noise` out, or fix what matters least."
        )
    fixed = problem.lower == problem.upper
    size = variable_sizes(problem.start[free], problem.lower[free], problem.upper[free])
    functions = 1 + sum(problem.sizes)
    cloud = Cloud(free.size, functions)
    f, values = problem.evaluation.values(problem.start)
    cloud.add(problem.start[free] / size, np.array([f, *values]))
    linear = _linear(problem)
    told = not (options.noise is None or isinstance(options.noise, (str, np.ndarray)))
    level, status = np.full(functions, LEAST_LEVEL), None
    try:
        level = noise_levels(problem, options.noise, linear)
    except StopError as stop:
        status = stop.status
    level = np.where(linear, 0.0, level)
    begin = None
    if status is None and options.evaluations is None and level.max() <= LITTLE and may_be_noisy(problem):
        every = np.ones(problem.start.size)
        every[free] = size
        begin = approach(problem, options, watch, level, every)
        if begin.status in (Status.CALLBACK, Status.INTERRUPTED):
            status = begin.status
        elif begin.status in LIMITS:  # its own share of them may be less than what is left
            status = watch.reached(begin.iterations)
    known = [(x, F) for x, F in problem.evaluation.calls.recorded() if (x != problem.start).any()]
    for x, F in known + _given(problem, options.evaluations):
        if (x[fixed] == problem.start[fixed]).all():
            cloud.add(x[free] / size, F)
    search = NoisySearch(problem, free, level, cloud, size, watch, options.exhaust, told)
    search.iteration = iteration
    if begin is not None:
        search.begin_at(begin)
    if status is None:
        status = search.run()
    return _outcome(search, status, options)


def _given(problem: Problem, evaluations: Any) -> list[tuple[Array, Array]]:
    """Points (n,) and values (1 + k,) of earlier runs."""
    if evaluations is None:
        return []
    n, k = problem.start.size, sum(problem.sizes)
    try:
        x, fun, values = (np.asarray(part, dtype=float) for part in evaluations)
        x, fun, values = x.reshape(-1, n), fun.reshape(-1, 1), values.reshape(-1, k)
        together = np.hstack([fun, values])
        if len(x) != len(together):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"`minimize(evaluations=...)` must be `result.evaluations` of a run with {n} variables and {k} "
            f"constraint values: arrays (N, {n}), (N,) and (N, {k}); got {evaluations!r}."
        ) from None
    return list(zip(x, together, strict=True))


def _linear(problem: Problem) -> Mask:
    """Which of objective and values (1 + k,) are linear, and so free of noise."""
    parts = [np.zeros(1, dtype=bool)]
    for block, count in zip(problem.evaluation.blocks, problem.sizes, strict=True):
        parts.append(np.full(count, block.matrix is not None))
    return np.concatenate(parts)


def noise_levels(problem: Problem, given: Any, linear: Mask) -> Array:
    """Relative noise (1 + k,) of objective and values: what the user says, the rest from points on a line."""
    names = [
        "objective",
        *(name for name, count in zip(problem.names, problem.sizes, strict=True) for _ in range(count)),
    ]
    level = np.full(len(names), np.nan)
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - {"objective", *problem.names})
        if unknown:
            raise ValueError(
                f"`minimize(noise=...)` must name 'objective' or constraints "
                f"({', '.join(map(repr, problem.names))}); got {unknown[0]!r}."
            )
        level = np.array([float(given.get(name, np.nan)) for name in names])
    elif isinstance(given, np.ndarray):
        level = given.copy()
    elif given not in (None, "auto"):
        level[:] = float(given)
    asked = np.isnan(level) & ~linear
    if asked.any():
        level[asked] = measured_levels(problem)[asked]
    known: Array = np.maximum(np.nan_to_num(level), LEAST_LEVEL)
    return known


def _outcome(search: NoisySearch, status: Status, options: Options) -> Outcome:
    """The centre, with what the models say there, and how uncertain that is."""
    problem, free = search.problem, search.free
    view = search.fit()
    models, n_all = view.models, problem.start.size
    g, J = np.zeros(n_all), np.zeros((models.F.size - 1, n_all))
    g[free], J[:, free] = models.J[0] / search.size, models.J[1:] / search.size
    fixed = problem.lower == problem.upper
    g[fixed], J[:, fixed] = np.nan, 0.0
    z = np.zeros(n_all)
    z[free] = search.z / search.size
    y = search.y / view.linear.length
    solution = Solution(search.x, float(models.F[0]), models.F[1:].copy(), np.nan_to_num(g), J, y, z)
    unit = max(float(np.abs(g[free]).max(initial=0.0)), 1e-300)

    def stationarity(residual: Array) -> float:
        return float(np.abs(residual[free]).max(initial=0.0)) / unit

    tolerances = Tolerances.at(options.tol, options.constraint_tol)
    return Outcome(
        solution, status, tolerances, stationarity, search.iteration,
        noise=view.noise, uncertainty=uncertainty(search, view),
    )  # fmt: skip
