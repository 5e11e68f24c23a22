"""The hard QP of many variables for a matrix kept as a diagonal and a few vectors.

As in `active_set`, what is saturated or held at a bound is known and the rest follows from a linear system,
here by the structure of the matrix: about k²n operations without rows, c²n with c of them in their corner.
What then has the wrong sign moves: all of it at once or, where that stops helping, one thing at a time, so
that nothing goes round in circles (Júdice & Pires 1994).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ....core import compiled
from ....types import Array, Indices
from ...norms import all_finite, largest
from ..curvature.compact import CompactMatrix
from .active_set import RESIDUAL, SIGN_TOLERANCE, SMALLEST_STEP
from .qp import ABOVE, BELOW, CORNER, QPSolution, States

__all__ = ["solve_compact"]

PATIENCE = 10  # systems without fewer wrong signs before things move one at a time
SYSTEMS = 100  # before giving up
ACCURATE = (
    1e-12  # residual of a system, relative to the gradient and to the rows' errors, that is good enough
)
REFINEMENTS = 2  # of a system's solution at most
SETTINGS = SYSTEMS, PATIENCE, REFINEMENTS, ACCURATE, SIGN_TOLERANCE, SMALLEST_STEP


def solve_compact(
    g: Array, B: CompactMatrix, a: Array, b: Array, low: Array, high: Array, states: States
) -> QPSolution | None:
    """The exact solution from a guess of the ``states`` (m + n,), or None where that does not lead to it.

    ``low`` and ``high`` (m + n,) hold the boxes of the rows' multipliers, then the bounds of the step.
    """
    if b.size:
        return _solved(g, B, a, b, low, high, states)
    found = boxed(B.D, B.W, B.M, g, low, high, states, SETTINGS)
    return None if found is None else QPSolution(found[0], b, *found[1:])


@compiled
def boxed(
    D: Array,
    W: Array,
    M: Array,
    g: Array,
    low: Array,
    high: Array,
    states: States,
    settings: tuple[float, ...],
) -> tuple[Array, Array, States] | None:
    """Step (n,), multipliers of the bounds (n,) and states (n,) where there are no rows; or None."""
    found = _solved(g, CompactMatrix(D, W, M), np.empty((0, g.size)), np.empty(0), low, high, states)
    return None if found is None else (found.d, found.z, found.states)


def _solved(
    g: Array, B: CompactMatrix, a: Array, b: Array, low: Array, high: Array, states: States
) -> QPSolution | None:
    """The solution by pivoting, or None."""
    n, m = g.size, b.size
    size_g = largest(g)
    primal, slack, dual_slack = np.empty(m + n), np.empty(m + n), np.empty(m + n)
    states, fewest, patience = states.copy(), n + m + 1, PATIENCE
    for _ in range(SYSTEMS):
        known = states != CORNER
        dual = np.where(known, np.where(states < 0, low, high), 0.0)
        y, d = dual[:m], dual[m:]
        corner, free = (~known[:m]).nonzero()[0], (~known[m:]).nonzero()[0]
        if corner.size > free.size or not all_finite(dual):
            return None
        residual = _fill(d, y, g, B, a, b, corner, free)
        if residual is None:
            return None
        primal[:m] = a @ d + b
        np.multiply(residual, -known[m:].astype(float), out=primal[m:])
        slack[:m] = dual_slack[m:] = SIGN_TOLERANCE * max(SMALLEST_STEP, largest(d))
        slack[m:] = dual_slack[:m] = SIGN_TOLERANCE * max(size_g, largest(y))
        too_low, too_high = dual < low - dual_slack, dual > high + dual_slack
        inward = states * primal < -slack
        wrong = too_low | too_high | inward
        count = int(np.count_nonzero(wrong))
        if not count:
            if largest(primal[corner]) > RESIDUAL * max(1.0, largest(b[corner])):
                return None
            np.minimum(np.maximum(dual, low, out=dual), high, out=dual)
            return QPSolution(d, y, primal[m:], states)
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
) -> Array | None:
    """Put the steps ``free`` into d (n,) and the multipliers ``corner`` into y (m,).

    Returns the gradient B·d + g + aᵀy (n,), which is zero where variables are free, or None if that fails.
    """
    try:
        system, _ = B.among(free), B.inverse
    except np.linalg.LinAlgError:
        return None
    rows, factor, missing = a[corner], None, np.empty(0)
    own = rows if free.size == g.size else rows[:, free]
    if corner.size:
        factor, info = lapack.dpotrf(system.between(own), lower=1)
        if info:
            return None
    enough = ACCURATE * largest(g), ACCURATE * max(1.0, largest(b[corner]))
    for refinement in range(2 + REFINEMENTS):
        gradient = B @ d + g + y @ a if y.size else B @ d + g
        if corner.size:
            missing = rows @ d + b[corner]
        accurate = largest(gradient[free]) <= enough[0] and largest(missing) <= enough[1]
        if refinement > REFINEMENTS or (refinement and accurate):
            break
        change = -system.solve(gradient[free])
        if corner.size:
            multipliers = lapack.dpotrs(factor, own @ change + missing, lower=1)[0]
            change -= system.solve(multipliers @ own)
            y[corner] += multipliers
        d[free] += change
    return gradient if all_finite(d) and all_finite(y) else None
