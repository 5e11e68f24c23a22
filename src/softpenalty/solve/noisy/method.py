"""The method "noisy": how large the noise is, the search, and what can be said about its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...problem.problem import Problem
from ...types import Array, Indices, Mask
from ..options import Options
from ..outcome import Outcome, Solution
from ..status import Status
from ..tolerances import Tolerances
from ..watch import StopError, Watch
from .cloud import Cloud
from .level import SPACINGS, line, noise_level
from .loop import LEAST_LEVEL, NoisySearch, variable_sizes

__all__ = ["solve_noisy"]

MOST_VARIABLES = 30  # beyond it the models need more points than anybody has


def solve_noisy(problem: Problem, options: Options, watch: Watch) -> Outcome:
    """Solve by models regressed over all points; see `loop`."""
    free = np.flatnonzero(problem.lower < problem.upper)
    if not 0 < free.size <= MOST_VARIABLES:
        raise ValueError(
            f"`minimize(noise=...)` takes 1 to {MOST_VARIABLES} free variables; got {free.size}. Leave "
            "`noise` out, or fix what matters least."
        )
    size = variable_sizes(problem.start[free], problem.lower[free], problem.upper[free])
    functions = 1 + sum(problem.sizes)
    cloud = Cloud(free.size, functions)
    f, values = problem.evaluation.values(problem.start)
    cloud.add(problem.start[free] / size, np.array([f, *values]))
    fixed_alike = np.delete(problem.start, free)
    for x, F in problem.evaluation.recorded:
        if (np.delete(x, free) == fixed_alike).all() and not (x == problem.start).all():
            cloud.add(x[free] / size, F)
    linear = _linear(problem)
    level, status = np.full(functions, LEAST_LEVEL), None
    try:
        level = noise_levels(problem, options.noise, cloud, free, size, linear)
    except StopError as stop:
        status = stop.status
    search = NoisySearch(problem, free, np.where(linear, 0.0, level), cloud, size, watch, options.exhaust)
    if status is None:
        status = search.run()
    return _outcome(search, status, options)


def _linear(problem: Problem) -> Mask:
    """Which of objective and values (1 + k,) are linear, and so free of noise."""
    parts = [np.zeros(1, dtype=bool)]
    for block, count in zip(problem.evaluation.blocks, problem.sizes, strict=True):
        parts.append(np.full(count, block.matrix is not None))
    return np.concatenate(parts)


def noise_levels(
    problem: Problem, given: Any, cloud: Cloud, free: Indices, size: Array, linear: Mask
) -> Array:
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
    elif given not in (None, "auto"):
        level[:] = float(given)
    asked = np.isnan(level) & ~linear
    if asked.any():
        level[asked] = estimated_levels(problem, cloud, free, size)[asked]
    known: Array = np.maximum(np.nan_to_num(level), LEAST_LEVEL)
    return known


def estimated_levels(problem: Problem, cloud: Cloud, free: Indices, size: Array) -> Array:
    """Relative noise (1 + k,) seen in values on short lines from the start."""
    random = np.random.default_rng(0)
    start = problem.start[free]
    here = cloud.values[0]
    level, decided = np.full(here.size, np.inf), np.zeros(here.size, dtype=bool)
    for spacing in SPACINGS:
        places = line(start, size, problem.lower[free], problem.upper[free], spacing, random)
        points = []
        for place in places:
            x = problem.start.copy()
            x[free] = place
            points.append(x)
        values = problem.evaluation.many(points)
        for place, F in zip(places, values, strict=True):
            cloud.add(place / size, F)
        table = np.vstack([here, *values])
        for i in np.flatnonzero(~decided):
            found, decided[i] = noise_level(table[:, i])
            level[i] = found if decided[i] else min(level[i], found)
        if decided.all():
            break
    relative: Array = np.where(np.isfinite(level), level, 0.0) / np.maximum(1.0, np.abs(here))
    return relative


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
        noise=view.noise, uncertainty=search.uncertainty(view),
    )  # fmt: skip
