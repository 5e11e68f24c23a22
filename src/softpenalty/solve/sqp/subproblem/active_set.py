"""The penalty QP solved exactly from a guess of its active set.

The subproblem is  min g·d + ½ d·Bd + Σ hᵢ(aᵢ·d + bᵢ)  over lower ≤ d ≤ upper, with the corner
hᵢ(e) = max(highᵢ·e, lowᵢ·e): the multiplier of every row lives in the box [lowᵢ, highᵢ]. For B > 0 the
solution is unique, and known as soon as it is known which rows sit in their corner (error 0), which are
saturated on either side, and which variables are at a bound: one linear system. Iterating "solve, move
what has the wrong sign" is the primal-dual active set method (Hintermüller, Ito & Kunisch 2003). From the
previous iteration's guess it usually needs one or two systems, and its answer is exact.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ....core import compiled
from ....types import Array, Mask
from ...norms import all_finite, largest
from .qp import ABOVE, BELOW, CORNER, QP, QPSolution, States, Step, stepped

__all__ = ["SYSTEMS", "TOLERANCES", "guessed_step", "solve_from_guess"]

SIGN_TOLERANCE = 1e-10  # wrong signs below this share of the largest entry are rounding
SMALLEST_STEP = 1e-8  # ... but an error below the product of the two is rounding in any case
SYSTEMS = 12  # linear systems solved before giving up: the method may cycle
RESIDUAL = 1e-9  # error of the rows in their corner that a usable solution may leave, relative to b


TOLERANCES = SIGN_TOLERANCE, SMALLEST_STEP, RESIDUAL


def solve_from_guess(qp: QP, states: States, systems: int = SYSTEMS) -> QPSolution | None:
    """The exact solution of ``qp``, or None when ``states`` does not lead to it within ``systems``."""
    found = guessed(qp, states, systems, *TOLERANCES)
    return None if found is None else QPSolution(*found)


@compiled
def guessed_step(
    qp: QP,
    states: States,
    equality: Mask,
    systems: int,
    sign_tolerance: float,
    smallest_step: float,
    residual: float,
) -> tuple[Step, States] | None:
    """The step that meets the linearized rows, by `guessed`, and the states (m + n,) behind it; or None."""
    found = guessed(qp, states, systems, sign_tolerance, smallest_step, residual)
    if found is None:
        return None
    return stepped(QPSolution(*found), equality, True), found[3]


@compiled
def guessed(
    qp: QP, states: States, systems: int, sign_tolerance: float, smallest_step: float, residual: float
) -> tuple[Array, Array, Array, States] | None:
    """Step (n,), multipliers of rows (m,) and bounds (n,), and states (m + n,), all exact; or None."""
    g, B, a, b, low, high = qp.g, qp.B, qp.a, qp.b, qp.low, qp.high
    n, m = g.size, b.size
    size_g = largest(g)
    primal, tolerance, dual_tolerance = np.empty(m + n), np.empty(m + n), np.empty(m + n)
    seen = set()
    for _ in range(systems):
        key = states.tobytes()
        if key in seen:
            return None
        seen.add(key)
        # Saturated multipliers and variables at a bound are known; the rest is solved for.
        unknown = states == CORNER
        dual = np.where(unknown, 0.0, np.where(states < 0, low, high))
        y, d = dual[:m], dual[m:]
        corner, free = unknown[:m].nonzero()[0], unknown[m:].nonzero()[0]
        k, size = free.size, free.size + corner.size
        if corner.size > k or not all_finite(dual):
            return None
        rows = a[corner]
        K, rhs = np.zeros((size, size), order="F"), np.empty(size)
        gradient = g + y @ a if m else g
        if k == n:
            K[:n, :n] = B
            K[n:, :n] = rows
            rhs[:n] = gradient
            rhs[n:] = b[corner]
        else:
            K[:k, :k] = B[free[:, None], free]
            K[k:, :k] = rows[:, free]
            rhs[:k] = (gradient + B @ d)[free]
            rhs[k:] = b[corner] + rows @ d
        K[:k, k:] = K[k:, :k].T
        if size:
            if corner.size:
                _, _, solution, info = lapack.dgesv(K, rhs, overwrite_a=1, overwrite_b=1)
            else:  # B itself
                _, solution, info = lapack.dposv(K, rhs, lower=1, overwrite_a=1, overwrite_b=1)
            if info or not all_finite(solution):
                return None
            d[free] = -solution[:k]
            y[corner] = -solution[k:]
        # Errors of the rows and multipliers of the bounds: what must have the sign of the state.
        errors, z = primal[:m], primal[m:]
        np.add(a @ d, b, out=errors)
        z[:] = 0.0
        if k < n:
            held = (~unknown[m:]).nonzero()[0]
            z[held] = -(B @ d + g + y @ a)[held]
        size_d = sign_tolerance * max(smallest_step, largest(d))
        size_y = sign_tolerance * max(size_g, largest(y))
        tolerance[:m] = dual_tolerance[m:] = size_d
        tolerance[m:] = dual_tolerance[:m] = size_y
        wrong_side = states * primal < -tolerance
        too_low = dual < low - dual_tolerance
        too_high = dual > high + dual_tolerance
        if not np.logical_or.reduce(wrong_side | too_low | too_high):
            if largest(errors[corner]) > residual * max(1.0, largest(b[corner])):
                return None
            np.minimum(np.maximum(dual, low, out=dual), high, out=dual)
            return d, y, z, states
        states = states.copy()
        states[wrong_side] = CORNER
        states[too_low] = BELOW
        states[too_high] = ABOVE
    return None
