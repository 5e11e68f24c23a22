"""A point near the start at which everything is defined."""

from __future__ import annotations

import math

import numpy as np

from ..core import compiled
from ..problem.evaluation import Evaluation
from ..types import Array
from .norms import all_finite, squares_finite

__all__ = ["find_start"]

START_TRIALS = 30  # perturbations tried when nothing is defined at the start
START_RADIUS = 1e-5  # the first perturbation, relative to max(1, |x|); doubled each time


def find_start(
    evaluation: Evaluation, x0: Array, lower: Array, upper: Array, derivatives: bool = True
) -> Array | None:
    """A point near ``x0`` where all values, and ``derivatives`` where they are needed, are finite, or None.

    Without one, no step can be computed; many models are undefined exactly at their natural start (a
    logarithm at 0) and fine beside it.
    """
    random = None
    x = inside(x0, lower, upper)
    for trial in range(START_TRIALS + 1):
        f, c = evaluation.values(x)
        if math.isfinite(f) and all_finite(c):
            if not derivatives:
                return x
            g, J = evaluation.derivatives(x)
            if squares_finite(g) and squares_finite(J.data if hasattr(J, "toarray") else J):
                return x
        if random is None:
            random = np.random.default_rng(0)
        shift = START_RADIUS * 2.0**trial * np.maximum(1.0, np.abs(x0)) * random.uniform(-1.0, 1.0, x0.size)
        x = inside(x0 + shift, lower, upper)
    return None


@compiled
def inside(x: Array, lower: Array, upper: Array) -> Array:
    """The point (n,) within the bounds that is next to x."""
    return np.minimum(np.maximum(x, lower), upper)
