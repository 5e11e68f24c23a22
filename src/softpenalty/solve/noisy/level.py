"""How large the noise of a function is, from its values at equally spaced points on a short line.

Differences of high order of a smooth function vanish, those of noise do not: after an idea of Moré and Wild
(2011). With values at seven points the k-th differences have a mean square of (2k)!/(k!)² times the variance
of the noise, for every k from which on nothing else is left in them.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from ...problem.problem import Problem
from ...types import Array

__all__ = ["line", "measured_levels", "noise_level", "variable_sizes"]

EXTRA = 6  # points on a line beside the one that is known
SPACINGS = (1e-2, 1e-3, 1e-5)  # of the points, relative to the size of x, tried one after the other
AGREEMENT = 4.0  # levels from three orders within this factor are the noise
LEAST_ORDER = 4  # from here on a change of sign need not be seen


def line(
    x: Array, size: Array, lower: Array, upper: Array, spacing: float, random: np.random.Generator
) -> list[Array]:
    """`EXTRA` points (n,) on a line from ``x`` along which every variable moves, inside the bounds."""
    step = spacing * random.uniform(0.5, 1.0, x.size) * size
    step = np.where(random.random(x.size) < 0.5, -step, step)
    room_ahead = np.where(step > 0.0, upper - x, x - lower)
    room_behind = np.where(step > 0.0, x - lower, upper - x)
    step = np.where((room_ahead < EXTRA * np.abs(step)) & (room_behind > room_ahead), -step, step)
    room = np.maximum(room_ahead, room_behind)
    step = np.sign(step) * np.minimum(np.abs(step), room / EXTRA)
    return [np.clip(x + j * step, lower, upper) for j in range(1, EXTRA + 1)]


def noise_level(values: Array) -> tuple[float, bool]:
    """Standard deviation of the noise in ``values`` (EXTRA + 1,), and whether they show it.

    Where they do not, the returned number is an upper limit.
    """
    if not np.isfinite(values).all():
        return np.inf, False
    levels, changes = [], []
    differences = values
    for k in range(1, EXTRA + 1):
        differences = np.diff(differences)
        variance = factorial(k) ** 2 / factorial(2 * k) * float(np.mean(differences**2))
        levels.append(np.sqrt(variance))
        changes.append(bool((differences.min() < 0.0) and (differences.max() > 0.0)))
    for k in range(1, EXTRA - 1):
        three = levels[k - 1 : k + 2]
        if max(three) <= AGREEMENT * min(three) and (changes[k - 1] or k >= LEAST_ORDER):
            return levels[k - 1], True
    return levels[-1], False


def variable_sizes(x: Array, lower: Array, upper: Array) -> Array:
    """What the variables (n,) are measured by: 1, their start, or a part of the width of their bounds."""
    width = upper - lower
    usual = np.maximum(1.0, np.abs(x))
    wide = np.where(np.isfinite(width) & (width <= 1e4 * usual), 0.1 * width, 0.0)
    return np.minimum(np.maximum(usual, wide), width)


def measured_levels(problem: Problem, spacings: tuple[float, ...] = SPACINGS) -> Array:
    """Relative noise (1 + k,) of objective and values, seen on short lines from the start.

    A function is looked at over the next one of the ``spacings`` as long as it is undecided.
    """
    evaluation, start = problem.evaluation, problem.start
    free = problem.lower < problem.upper
    unit = np.where(free, variable_sizes(start, problem.lower, problem.upper), 0.0)
    random = np.random.default_rng(0)
    f, values = evaluation.values(start)
    here = np.array([f, *values])
    size = np.maximum(1.0, np.abs(here))
    level, decided = np.full(here.size, np.inf), np.zeros(here.size, dtype=bool)
    for spacing in spacings:
        places = line(start, unit, problem.lower, problem.upper, spacing, random)
        table = np.vstack([here, *evaluation.many(places)])
        for i in np.flatnonzero(~decided):
            found, decided[i] = noise_level(table[:, i])
            level[i] = found if decided[i] else min(level[i], found)
            if np.isfinite(table[:, i]).all():  # noise is relative to the values it was seen in
                size[i] = np.sqrt(np.mean(np.maximum(1.0, np.abs(table[:, i])) ** 2))
        if decided.all():
            break
    relative: Array = np.where(np.isfinite(level), level, 0.0) / size
    return relative
