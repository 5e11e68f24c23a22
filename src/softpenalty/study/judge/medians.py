"""Medians with their bootstrap interval.

Examples
--------
>>> import numpy as np
>>> median_of(np.arange(1.0, 102.0)).value
51.0
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...types import Array

CONFIDENCE = 0.95
RESAMPLES = 10_000
_BOOTSTRAP_SEED = 95  # intervals are the same on every call


@dataclass(frozen=True)
class Median:
    """Median of a sample and its bootstrap interval at level `CONFIDENCE`."""

    value: float
    low: float
    high: float
    samples: int


def median_of(values: NDArray[Any]) -> Median:
    """Median of `values` with its bootstrap interval."""
    resampled = resampled_medians(values, values.size)
    tail = 50.0 * (1.0 - CONFIDENCE)
    # "inverted_cdf" picks values that were drawn, so infinite distances do not turn into NaN
    low, high = np.percentile(resampled, [tail, 100.0 - tail], method="inverted_cdf")
    return Median(float(np.median(values)), float(low), float(high), values.size)


def resampled_medians(values: NDArray[Any], size: int) -> Array:
    """Medians of `RESAMPLES` samples of `size` drawn from `values` with replacement.

    A resample's median depends on its middle ranks only, and those have a known distribution: the k-th
    smallest of m uniform numbers is Beta(k, m+1−k), and the next one lies a Beta(1, m−k) share of the rest
    above it. Drawing the two ranks is the bootstrap itself, at the cost of two numbers a resample.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    lower, upper = _middle_ranks(size)
    last = ordered.size - 1
    below = ordered[np.minimum((lower * ordered.size).astype(np.intp), last)]
    above = ordered[np.minimum((upper * ordered.size).astype(np.intp), last)]
    middle: Array = 0.5 * below + 0.5 * above
    return middle


@lru_cache(maxsize=32)
def _middle_ranks(size: int) -> tuple[Array, Array]:
    """The two middle ranks, in [0, 1], of `RESAMPLES` samples of `size` uniform numbers."""
    generator = np.random.default_rng(_BOOTSTRAP_SEED)
    k = (size + 1) // 2
    lower = generator.beta(k, size + 1 - k, RESAMPLES)
    if size % 2:
        return lower, lower
    return lower, lower + (1.0 - lower) * generator.beta(1, size - k, RESAMPLES)
