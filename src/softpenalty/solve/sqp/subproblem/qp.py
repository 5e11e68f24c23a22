"""The penalty QP and its solution.

min g·d + ½ d·Bd + Σ hᵢ(aᵢ·d + bᵢ) over lower ≤ d ≤ upper, with the corner hᵢ(e) = max(highᵢ·e, lowᵢ·e): the
multiplier of every row lives in the box [lowᵢ, highᵢ].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....core import compiled
from ....types import Array, Mask

__all__ = ["ABOVE", "BELOW", "CORNER", "QP", "QPSolution", "States", "boxes", "in_corner"]

States = NDArray[np.int8]  # (m + n,): one of the three for each row, then for each variable

BELOW, CORNER, ABOVE = -1, 0, 1
"""Of a row: slope saturated low, error 0, slope saturated high. Of a variable: lower bound, free, upper."""


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
def in_corner(states: States, equality: Mask) -> Mask:
    """Which rows (m,) are in their corner or meant to be."""
    corner: Mask = (states[: equality.size] == CORNER) | equality
    return corner
