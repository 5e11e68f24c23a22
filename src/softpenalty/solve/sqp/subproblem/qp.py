"""The penalty QP and its solution.

min g·d + ½ d·Bd + Σ hᵢ(aᵢ·d + bᵢ) over lower ≤ d ≤ upper, with the corner hᵢ(e) = max(highᵢ·e, lowᵢ·e): the
multiplier of every row lives in the box [lowᵢ, highᵢ].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core import compiled
from ....types import Array, Mask, States

__all__ = [
    "ABOVE", "BELOW", "CORNER", "QP", "QPSolution", "States", "Step", "boxes", "stepped", "violation_qp",
]  # fmt: skip

NO_CURVATURE = 1e-8  # only to make a QP without objective definite

BELOW, CORNER, ABOVE = -1, 0, 1
"""States (m + n,) of the rows, then of the variables.

Of a row: slope saturated low, error 0, slope saturated high. Of a variable: lower bound, free, upper.
"""


@compiled
@dataclass(slots=True)
class QP:
    """One penalty QP: g (n,), B (n, n) > 0, unit rows a (m, n) with errors b (m,), and the boxes.

    ``low`` and ``high`` (m + n,) hold the multipliers' boxes, then the bounds of the step.
    """

    g: Array
    B: Array
    a: Array
    b: Array
    low: Array
    high: Array


def violation_qp(a: Array, b: Array, lower: Array, upper: Array) -> QP:
    """The QP without objective: nothing but the violations of the unit rows, for steps inside a box (n,)."""
    n, nothing = lower.size, np.zeros(b.size)
    low, high = np.concatenate([nothing, lower]), np.concatenate([nothing, upper])
    return QP(np.zeros(n), NO_CURVATURE * np.eye(n), a, b, low, high)


@compiled
@dataclass(slots=True)
class QPSolution:
    """Step (n,), multipliers of the rows (m,) and of the bounds (n,), and the states behind them."""

    d: Array
    y: Array
    z: Array
    states: States


@compiled
def boxes(low: Array, high: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """The multipliers' boxes (m,) followed by the bounds of the step (n,), below and above."""
    return np.concatenate([low, lower]), np.concatenate([high, upper])


@compiled
@dataclass(slots=True)
class Step:
    """A subproblem's solution.

    Attributes
    ----------
    d : (n,) step
    y : (m,) multipliers of the unit rows
    z : (n,) multipliers of the bounds, ≥ 0 at an upper and ≤ 0 at a lower one
    corner : (m,) rows in whose corner the step ends, and all equalities
    met : whether the linearized rows are met
    """

    d: Array
    y: Array
    z: Array
    corner: Mask
    met: bool


@compiled
def stepped(solution: QPSolution, equality: Mask, met: bool) -> Step:
    """The step that a solution is, ``equality`` (m,) being the rows that are equalities."""
    corner: Mask = (solution.states[: equality.size] == CORNER) | equality
    return Step(solution.d, solution.y, solution.z, corner, met)
