"""The questions asked of every vector."""

from __future__ import annotations

import math

import numpy as np

from ..core import compiled
from ..types import Array

__all__ = ["all_finite", "extremes", "largest", "squares_finite"]


@compiled
def largest(vector: Array) -> float:
    """Largest absolute entry, 0 for an empty vector."""
    return float(np.maximum.reduce(np.absolute(vector))) if vector.size else 0.0


@compiled
def extremes(vector: Array) -> tuple[float, float]:
    """Smallest and largest entry, inf and −inf for an empty vector."""
    return float(vector.min(initial=np.inf)), float(vector.max(initial=-np.inf))


@compiled
def all_finite(array: Array) -> bool:
    """Whether no entry is infinite or NaN, by a product with zeros: several times as fast as looking at each.

    Infinity times zero is NaN. A plain sum would warn where it overflows; `vdot` never warns.
    """
    return math.isfinite(np.vdot(array, np.zeros(array.size)))


@compiled
def squares_finite(array: Array) -> bool:
    """Whether no entry is infinite, NaN, or so large that its square is: such derivatives lead nowhere."""
    return math.isfinite(np.vdot(array, array))
