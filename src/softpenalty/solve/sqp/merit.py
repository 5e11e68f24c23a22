"""What a step must decrease: the algebraic penalty balanced at the multipliers, or the exact ℓ1 penalty.

With sigma = 2·|multiplier| the slope of the algebraic penalty at error 0 is the multiplier itself, so a
solution of the problem is a stationary point of the merit whatever alpha is: full steps are accepted near
it, and no second-order correction is needed. Both work on unit rows: errors divided by the length of
their gradient, so that they are distances in x.

Here are the weights, what they predict of a step, and the choice between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...core import compiled
from ...types import Array, Mask
from .curvature.source import Matrix
from .model import Model
from .points import Point
from .state import Local
from .subproblem.qp import Step

__all__ = ["ALPHA", "BALANCED_SHARE", "BalancedMerit", "ExactMerit", "Merit", "Plan", "choose", "weigh"]

ALPHA = 0.1  # corner width in units of x; anything from 0.03 to 0.3 serves as well
EXACT_SHARE = 0.1  # the exact merit must predict a fall of this share of d·Bd, else its weights are raised
EXACT_GOAL = 0.5  # ... to predict this share
BALANCED_SHARE = 0.3  # the balanced merit is used where it predicts a fall of this share of d·Bd


class Merit(Protocol):
    """A penalty of the unit rows' errors (m,), or of errors divided by ``units`` (m,) if these are given."""

    def penalty(self, errors: Array, units: Array | None = None) -> float: ...


@compiled
class BalancedMerit:
    """Algebraic penalties whose slope at error 0 is the multiplier.

    Inequality: sigma·(√(4α² + e²) + e)/2 with sigma = 2·y; equality: y·e + sigma·√(4α² + e²), with sigma
    at least half the exact weight. Constants are dropped.
    """

    def __init__(self, y: Array, weights: Array, equality: Mask, alpha: float) -> None:
        size = np.abs(y)
        self._slope, self._corner = y, 4.0 * alpha * alpha
        self._root = np.where(equality, np.maximum(2.0 * size, 0.5 * weights), size)

    def penalty(self, errors: Array, units: Array | None = None) -> float:
        """Σ over the rows."""
        e = errors if units is None else errors / units
        return float(self._slope.dot(e) + self._root.dot(np.sqrt(e * e + self._corner)))


@compiled
class ExactMerit:
    """Σ weight·violation."""

    def __init__(self, weights: Array, equality: Mask) -> None:
        self._weights = weights
        self._floor = np.where(equality, -1.0, 0.0)

    def penalty(self, errors: Array, units: Array | None = None) -> float:
        """Σ over the rows."""
        e = errors if units is None else errors / units
        return float(self._weights @ np.maximum(e, self._floor * e))


@compiled
@dataclass(slots=True)
class Plan:
    """What a step does to the linearized problem.

    Change of the unit rows' errors (m,), slope g·d, curvature d·Bd, weights of the exact merit (m,) in
    unit rows and in the rows' own units, its penalty where the step starts, and its predicted fall.
    """

    change: Array
    slope: float
    curved: float
    weights: Array
    own_weights: Array
    penalty: float
    predicted: float


def weigh(
    model: Model, point: Point, B: Matrix, local: Local, step: Step, weights: Array, factor: float
) -> Plan:
    """Let the exact merit's weights follow the multipliers, and predict what the step gains.

    Parameters
    ----------
    weights : (m,) the last ones, in the rows' own units
    factor : times |multiplier|: the least that a weight may be
    """
    curved: Array | float
    if isinstance(B, np.ndarray):
        curved = B
    elif not model.m:  # only bounds, with multipliers z, so that B·d = −g − z
        curved = -float(point.g @ step.d) - float(step.z @ step.d)
    else:
        curved = float(step.d @ (B @ step.d))
    return weigh_step(point, curved, local, step, model.floor, weights, factor, EXACT_SHARE, EXACT_GOAL)


@compiled
def weigh_step(
    point: Point,
    B: Array | float,
    local: Local,
    step: Step,
    floor: Array,
    weights: Array,
    factor: float,
    share: float,
    goal: float,
) -> Plan:
    """The plan of a step; ``B`` (n, n) may be replaced by d·Bd.

    The weights are ``factor``·|y| or more, raised to ``goal`` where they promise less than ``share`` of d·Bd.
    """
    d, lengths, v = step.d, point.length, local.v
    curved = B if isinstance(B, float) else float(d @ (B @ d))
    change = local.a @ d
    errors = local.b + change
    fall = v - np.maximum(errors, floor * errors)
    slope = float(point.g @ d)
    needed = factor * np.abs(step.y)
    weights = np.maximum(needed, 0.5 * (weights * lengths + needed))
    predicted = float(weights @ fall) - slope
    if predicted < share * curved:
        total = float(fall.sum())
        if total > 0.0:
            weights = weights + (goal * curved - predicted) / total
            predicted = float(weights @ fall) - slope
    return Plan(change, slope, curved, weights, weights / lengths, float(weights @ v), predicted)


@compiled
def choose(
    equality: Mask, local: Local, step: Step, plan: Plan, alpha: float, share: float
) -> tuple[Merit, float]:
    """The balanced merit where it predicts ``share`` of d·Bd, else the exact one, with the predicted fall."""
    merit = BalancedMerit(step.y, plan.weights, equality, alpha)
    fall = merit.penalty(local.b) - merit.penalty(local.b + plan.change) - plan.slope
    if fall >= share * plan.curved:
        return merit, fall
    return ExactMerit(plan.weights, equality), plan.predicted
