"""Shorten a step until the merit falls; step back from points where the problem is not defined.

Without rows, values also tell where a longer step is better: a value is cheaper than a gradient, and one long
step than several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core import compiled
from ...types import Array
from .merit import Merit
from .model import Model
from .points import Point, total_broken

__all__ = ["SETTINGS", "Search", "search"]

ARMIJO = 1e-4  # share of the predicted fall that must come true
ROUNDING = 1e-13  # relative to the merit: changes below it are not visible
SHRINK = (0.1, 0.5)  # limits of one reduction by interpolation
RETREAT = 0.25  # reduction after an undefined point
MAX_TRIALS = 40
LONGER = 2.0  # a minimum along the step this many times as far away calls for a longer one
LENGTHENING = 10.0  # at most, at one go
VISIBLE = 100.0  # a fall of so many roundings shows where the minimum is
SHORTEST = 1e-9  # shorter steps mean that the direction does not descend
SETTINGS = ARMIJO, ROUNDING, *SHRINK, RETREAT, MAX_TRIALS, VISIBLE, SHORTEST, LONGER, LENGTHENING


@compiled
@dataclass(slots=True)
class Search:
    """The accepted point with its derivatives, or None, the step length and the number of trials."""

    point: Point | None
    t: float
    trials: int


@compiled
def lengthened(
    model: Model,
    point: Point,
    d: Array,
    new: Point,
    predicted: float,
    t: float,
    trials: int,
    longer: float,
    most: float,
) -> tuple[Point, float, int]:
    """The best of longer steps inside the bounds, its length, and the number of trials with the first one.

    As long as the parabola through the values at ``point`` and ``new`` with the slope −``predicted`` has its
    minimum more than ``longer`` times as far away, or none, that is where to look, at most ``most`` times.
    """
    trial = 1
    while trial < trials:
        excess = new.f - point.f + predicted * t
        farther = predicted * t / (2.0 * excess) if excess > 0.0 else np.inf
        if farther < longer:
            break
        far = t * min(farther, most)
        x = point.x + far * d
        if (x < model.lower).any() or (x > model.upper).any():
            break
        other = model.at(x)
        trial += 1
        if not other.f < new.f:
            break
        new, t = other, far
    return new, t, trial


@compiled
def search(
    model: Model,
    point: Point,
    d: Array,
    merit: Merit,
    predicted: float,
    t: float,
    far: float,
    unit: Array,
    lengthen: bool,
    settings: tuple[float, ...],
) -> Search:
    """Backtrack from ``t`` along ``d`` (n,).

    Parameters
    ----------
    model, point : the problem and where the step starts
    merit : penalty of errors in units of the rows' lengths at ``point``
    predicted : fall of objective + merit that the model of the problem predicts for the full step
    t : first step length
    far : sum of violations, in units ``unit`` (m,), beyond which no point is accepted
    lengthen : whether to look at longer steps where the first one is accepted, for problems without rows
    settings : `SETTINGS`
    """
    start = point.f + merit.penalty(point.r, point.length)
    spacing = model.spaced()
    of_f = spacing if isinstance(spacing, float) else float(spacing[0])
    slack = max(ROUNDING * abs(start), of_f * abs(point.f))
    shortest = SHORTEST if t > SHORTEST else SHORTEST * t  # a limited reach may make the first one tiny
    trial = 0
    while trial < MAX_TRIALS:
        trial += 1
        new = model.at(model.moved(point.x, d, t))
        value = np.inf
        defined = not math.isnan(new.f)
        if defined and total_broken(new.r, model.floor, unit) <= far:
            value = new.f + merit.penalty(new.r, point.length)
            if value <= start - ARMIJO * t * predicted + slack:
                if lengthen and trial == 1 and predicted * t > VISIBLE * slack:
                    limits = MAX_TRIALS, LONGER, LENGTHENING
                    new, t, trial = lengthened(model, point, d, new, predicted, t, *limits)
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
