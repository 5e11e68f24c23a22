"""The QP without rows for a matrix of limited memory: free steps by its pairs, bounds by pivoting.

With variables held at their bounds, the others follow from a system as small as the pairs are many. What then has
the wrong sign moves, all of it at once as in `active_set` or, where that stops helping, one variable at a time,
which always ends (Júdice & Pires 1994).
"""

from __future__ import annotations

import numpy as np

from ....types import Array
from ...norms import all_finite, largest
from ..curvature.limited import LimitedMatrix
from .active_set import SIGN_TOLERANCE, SMALLEST_STEP
from .qp import ABOVE, BELOW, CORNER, QPSolution, States

__all__ = ["solve_box"]

PATIENCE = 5  # systems without fewer wrong signs before variables move one at a time
SYSTEMS = 200
REFINEMENTS = 2  # of a system's solution


def solve_box(g: Array, B: LimitedMatrix, lower: Array, upper: Array, states: States) -> QPSolution | None:
    """Minimizer of g·d + ½ d·Bd over lower ≤ d ≤ upper from a guess of the ``states`` (n,), or None.

    None where numbers are not finite or too many systems are needed.
    """
    n, nothing = g.size, np.empty(0)
    if not states.any():
        d = B.step(g)
        if not all_finite(d):
            return None
        if (d >= lower).all() and (d <= upper).all():
            return QPSolution(d, nothing, np.zeros(n), states)
    states, fewest, patience = states.copy(), n + 1, PATIENCE
    size_g = largest(g)
    for _ in range(SYSTEMS):
        held = states != CORNER
        d = np.where(held, np.where(states == BELOW, lower, upper), 0.0)
        if not all_finite(d) or not _fill(d, g, B, ~held):
            return None
        z = np.where(held, -(B @ d + g), 0.0)
        small, small_dual = SIGN_TOLERANCE * max(SMALLEST_STEP, largest(d)), SIGN_TOLERANCE * size_g
        too_low, too_high = d < lower - small, d > upper + small
        inward = states * z < -small_dual
        wrong = too_low | too_high | inward
        count = int(wrong.sum())
        if not count:
            return QPSolution(np.minimum(np.maximum(d, lower), upper), nothing, z, states)
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience:
            patience -= 1
        else:
            wrong[: wrong.nonzero()[0][-1]] = False
        states[inward & wrong] = CORNER
        states[too_low & wrong] = BELOW
        states[too_high & wrong] = ABOVE
    return None


def _fill(d: Array, g: Array, B: LimitedMatrix, free: Array) -> bool:
    """Give the ``free`` variables of ``d`` (n,) the values that minimize; False where these are not finite."""
    W, middle = B.compact()
    own = W[:, free]
    small = middle - own @ own.T / B.scale
    for _ in range(REFINEMENTS):
        residual = -(B @ d + g)[free]
        change = residual / B.scale
        try:
            change += np.linalg.solve(small, own @ change) @ own / B.scale
        except np.linalg.LinAlgError:
            return False
        d[free] += change
    return all_finite(d)
