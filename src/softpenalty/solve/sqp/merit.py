"""What a step must decrease: the algebraic penalty balanced at the multipliers, or the exact ℓ1 penalty.

With sigma = 2·|multiplier| the slope of the algebraic penalty at error 0 is the multiplier itself, so a
solution of the problem is a stationary point of the merit whatever alpha is: full steps are accepted near
it, and no second-order correction is needed. Both work on unit rows: errors divided by the length of
their gradient, so that they are distances in x.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...types import Array, Mask

__all__ = ["BalancedMerit", "ExactMerit", "Merit"]

ALPHA = 0.1  # corner width in units of x; anything from 0.03 to 0.3 serves as well


class Merit(Protocol):
    """A penalty of the unit rows' errors (m,)."""

    def penalty(self, errors: Array) -> float: ...


class BalancedMerit:
    """Algebraic penalties whose slope at error 0 is the multiplier.

    Inequality: sigma·(√(4α² + e²) + e)/2 with sigma = 2·y; equality: y·e + sigma·√(4α² + e²), with sigma
    at least half the exact weight. Constants are dropped.
    """

    def __init__(self, y: Array, weights: Array, equality: Mask) -> None:
        self._slope = y
        size = np.abs(y)
        self._root = np.where(equality, np.maximum(2.0 * size, 0.5 * weights), size)

    def penalty(self, errors: Array) -> float:
        """Σ over the rows."""
        return float(self._slope.dot(errors) + self._root.dot(np.sqrt(errors * errors + 4.0 * ALPHA * ALPHA)))


class ExactMerit:
    """Σ weight·violation."""

    def __init__(self, weights: Array, equality: Mask) -> None:
        self._weights = weights
        self._floor = np.where(equality, -1.0, 0.0)

    def penalty(self, errors: Array) -> float:
        """Σ over the rows."""
        return float(self._weights @ np.maximum(errors, self._floor * errors))
