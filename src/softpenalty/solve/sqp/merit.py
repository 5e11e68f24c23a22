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

from ...core import REFERENCES, compiled
from ...types import Array, Mask
from .curvature.compact import CompactMatrix
from .curvature.source import Matrix
from .model import Model, Point
from .state import Local
from .subproblem.steering import Step

__all__ = ["BalancedMerit", "ExactMerit", "Merit", "Plan", "choose", "weigh", "weigh_step"]

ALPHA = 0.1  # corner width in units of x; anything from 0.03 to 0.3 serves as well
EXACT_SHARE = 0.1  # the exact merit must predict a fall of this share of d·Bd, else its weights are raised
EXACT_GOAL = 0.5  # ... to predict this share
BALANCED_SHARE = 0.3  # the balanced merit is used where it predicts a fall of this share of d·Bd


class Merit(Protocol):
    """A penalty of the unit rows' errors (m,), or of errors divided by ``units`` (m,) if these are given."""

    def penalty(self, errors: Array, units: Array | None = None) -> float: ...


class BalancedMerit:
    """Algebraic penalties whose slope at error 0 is the multiplier.

    Inequality: sigma·(√(4α² + e²) + e)/2 with sigma = 2·y; equality: y·e + sigma·√(4α² + e²), with sigma
    at least half the exact weight. Constants are dropped.
    """

    def __init__(self, y: Array, weights: Array, equality: Mask) -> None:
        self._slope = y
        self._root = balanced_roots(y, weights, equality)

    def penalty(self, errors: Array, units: Array | None = None) -> float:
        """Σ over the rows."""
        return balanced_penalty(self._slope, self._root, errors, units, ALPHA)


class ExactMerit:
    """Σ weight·violation."""

    def __init__(self, weights: Array, equality: Mask) -> None:
        self._weights = weights
        self._floor = np.where(equality, -1.0, 0.0)

    def penalty(self, errors: Array, units: Array | None = None) -> float:
        """Σ over the rows."""
        return exact_penalty(self._weights, self._floor, errors, units)


@compiled
def balanced_roots(y: Array, weights: Array, equality: Mask) -> Array:
    """What the balanced merit multiplies its roots by, (m,)."""
    size = np.abs(y)
    return np.where(equality, np.maximum(2.0 * size, 0.5 * weights), size)


@compiled
def balanced_penalty(slope: Array, root: Array, errors: Array, units: Array | None, alpha: float) -> float:
    """Σ slope·e + root·√(e² + 4α²)."""
    e = errors if units is None else errors / units
    return float(slope.dot(e) + root.dot(np.sqrt(e * e + 4.0 * alpha * alpha)))


@compiled
def exact_penalty(weights: Array, floor: Array, errors: Array, units: Array | None) -> float:
    """Σ weight·violation."""
    e = errors if units is None else errors / units
    return float(weights @ np.maximum(e, floor * e))


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
    compact = isinstance(B, CompactMatrix)
    if compact and not model.m:  # only bounds, with multipliers z, so that B·d = −g − z
        slope = float(point.g @ step.d)
        return Plan(local.b, slope, -slope - float(step.z @ step.d), local.b, local.b, 0.0, -slope)
    rows = local.a, local.b, local.v, model.floor
    found = (REFERENCES["weigh_step"] if compact else weigh_step)(
        point.g, B, *rows, step.d, step.y, weights, point.length, factor, EXACT_SHARE, EXACT_GOAL
    )
    return Plan(*found)


@compiled
def weigh_step(
    g: Array,
    B: Matrix,
    a: Array,
    b: Array,
    v: Array,
    floor: Array,
    d: Array,
    y: Array,
    weights: Array,
    lengths: Array,
    factor: float,
    share: float,
    goal: float,
) -> tuple[Array, float, float, Array, Array, float, float]:
    """The fields of a plan: weights of ``factor``·|y| or more, raised to ``goal`` where below ``share``."""
    change = a @ d
    errors = b + change
    fall = v - np.maximum(errors, floor * errors)
    slope = float(g @ d)
    curved = float(d @ (B @ d))
    needed = factor * np.abs(y)
    weights = np.maximum(needed, 0.5 * (weights * lengths + needed))
    predicted = float(weights @ fall) - slope
    if predicted < share * curved:
        total = float(fall.sum())
        if total > 0.0:
            weights = weights + (goal * curved - predicted) / total
            predicted = float(weights @ fall) - slope
    return change, slope, curved, weights, weights / lengths, float(weights @ v), predicted


def choose(equality: Mask, local: Local, step: Step, plan: Plan) -> tuple[Merit, float]:
    """The balanced merit where it promises enough, else the exact one, with the predicted fall."""
    merit = BalancedMerit(step.y, plan.weights, equality)
    fall = merit.penalty(local.b) - merit.penalty(local.b + plan.change) - plan.slope
    if fall >= BALANCED_SHARE * plan.curved:
        return merit, fall
    return ExactMerit(plan.weights, equality), plan.predicted
