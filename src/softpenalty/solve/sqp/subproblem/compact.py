"""The hard QP of many variables for a matrix kept as a diagonal and a few vectors.

As in `active_set`, what is saturated or held at a bound is known and the rest follows from a linear system,
here by the structure of the matrix: about k²n operations without rows, c²n with c of them in their corner.
What then has the wrong sign moves: all of it at once or, where that stops helping, one thing at a time, so
that nothing goes round in circles (Júdice & Pires 1994).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ....types import Array, Indices
from ...norms import all_finite, largest
from ..curvature.compact import CompactMatrix
from .active_set import RESIDUAL, SIGN_TOLERANCE, SMALLEST_STEP
from .qp import ABOVE, BELOW, CORNER, QPSolution, States

__all__ = ["solve_compact"]

PATIENCE = 10  # systems without fewer wrong signs before things move one at a time
SYSTEMS = 100  # before giving up
REFINEMENTS = 2  # of a system's solution, the first of which is the solution itself


def solve_compact(
    g: Array, B: CompactMatrix, a: Array, b: Array, low: Array, high: Array, states: States
) -> QPSolution | None:
    """The exact solution from a guess of the ``states`` (m + n,), or None where that does not lead to it.

    ``low`` and ``high`` (m + n,) hold the boxes of the rows' multipliers, then the bounds of the step.
    """
    n, m = g.size, b.size
    states, fewest, patience = states.copy(), n + m + 1, PATIENCE
    for _ in range(SYSTEMS):
        known = states != CORNER
        dual = np.where(known, np.where(states == BELOW, low, high), 0.0)
        y, d = dual[:m], dual[m:]
        corner, free = (~known[:m]).nonzero()[0], (~known[m:]).nonzero()[0]
        if corner.size > free.size or not all_finite(dual) or not _fill(d, y, g, B, a, b, corner, free):
            return None
        errors = a @ d + b
        z = np.where(known[m:], -(B @ d + g + y @ a), 0.0)
        small = SIGN_TOLERANCE * max(SMALLEST_STEP, largest(d))
        small_dual = SIGN_TOLERANCE * max(largest(g), largest(y))
        slack = np.repeat([small_dual, small], [m, n])
        too_low, too_high = dual < low - slack, dual > high + slack
        inward = states * np.concatenate([errors, z]) < -np.repeat([small, small_dual], [m, n])
        wrong = too_low | too_high | inward
        count = int(wrong.sum())
        if not count:
            if largest(errors[corner]) > RESIDUAL * max(1.0, largest(b[corner])):
                return None
            np.minimum(np.maximum(dual, low, out=dual), high, out=dual)
            return QPSolution(d, y, z, states)
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


def _fill(
    d: Array, y: Array, g: Array, B: CompactMatrix, a: Array, b: Array, corner: Indices, free: Indices
) -> bool:
    """Put in the steps ``free`` of d (n,) and the multipliers ``corner`` of y (m,); False if that fails."""
    try:
        system = B.among(free)
    except np.linalg.LinAlgError:
        return False
    rows = a[corner] if free.size == g.size else a[np.ix_(corner, free)]
    factor, info = lapack.dpotrf(system.between(rows), lower=1) if corner.size else (None, 0)
    if info:
        return False
    for _ in range(REFINEMENTS):
        change = system.solve(-(B @ d + g + y @ a)[free])
        if corner.size:
            missing = rows @ change + b[corner] + a[corner] @ d
            multipliers = lapack.dpotrs(factor, missing, lower=1)[0]
            change -= system.solve(multipliers @ rows)
            y[corner] += multipliers
        d[free] += change
    return all_finite(d) and all_finite(y)
