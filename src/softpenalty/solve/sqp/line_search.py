"""Shorten a step until the merit falls; step back from points where the problem is not defined."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...types import Array
from .merit import Merit
from .model import Model, Point, total_broken

__all__ = ["Search", "search"]

ARMIJO = 1e-4  # share of the predicted fall that must come true
ROUNDING = 1e-13  # relative to the merit: changes below it are not visible
SHRINK = (0.1, 0.5)  # limits of one reduction by interpolation
RETREAT = 0.25  # reduction after an undefined point
MAX_TRIALS = 40
SHORTEST = 1e-9  # shorter steps mean that the direction does not descend


@dataclass(slots=True)
class Search:
    """The accepted point with its derivatives, or None, the step length and the number of trials."""

    point: Point | None
    t: float
    trials: int


def search(
    model: Model, point: Point, d: Array, merit: Merit, predicted: float, t: float, far: float, unit: Array
) -> Search:
    """Backtrack from ``t`` along ``d`` (n,).

    Parameters
    ----------
    model, point : the problem and where the step starts
    merit : penalty of errors in units of the rows' lengths at ``point``
    predicted : fall of objective + merit that the model of the problem predicts for the full step
    t : first step length
    far : sum of violations, in units ``unit`` (m,), beyond which no point is accepted
    """
    start = point.f + merit.penalty(point.r, point.length)
    slack = max(ROUNDING * abs(start), model.spacing * abs(point.f))
    shortest = SHORTEST if t > SHORTEST else SHORTEST * t  # a limited reach may make the first one tiny
    for trial in range(1, MAX_TRIALS + 1):
        new = model.at(model.moved(point.x, d, t))
        value = np.inf
        defined = not math.isnan(new.f)
        if defined and total_broken(new.r, model.floor, unit) <= far:
            value = new.f + merit.penalty(new.r, point.length)
            if value <= start - ARMIJO * t * predicted + slack:
                if model.differentiate(new):
                    return Search(new, t, trial)
                defined = False
        if not defined:
            t *= RETREAT
        else:
            excess = value - start + predicted * t
            parabola = predicted * t * t / (2.0 * excess) if np.isfinite(excess) and excess > 0.0 else 0.0
            t = min(max(parabola, SHRINK[0] * t), SHRINK[1] * t)
        if t < shortest:
            break
    return Search(None, t, trial)
