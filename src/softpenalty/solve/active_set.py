"""The penalty QP solved exactly from a guess of its active set.

The subproblem is  min g·d + ½ d·Bd + Σ hᵢ(aᵢ·d + bᵢ)  over lower ≤ d ≤ upper, with the corner
hᵢ(e) = max(highᵢ·e, lowᵢ·e): the multiplier of every row lives in the box [lowᵢ, highᵢ]. For B > 0 the
solution is unique, and known as soon as it is known which rows sit in their corner (error 0), which are
saturated on either side, and which variables are at a bound: one linear system. Iterating "solve, move
what has the wrong sign" is the primal-dual active set method (Hintermüller, Ito & Kunisch 2003). From the
previous iteration's guess it usually needs one or two systems, and its answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from .point import Array, all_finite, largest

__all__ = ["ABOVE", "BELOW", "CORNER", "QP", "QPSolution", "States", "correct", "solve_from_guess"]

States = NDArray[np.int8]  # (m + n,): one of the three for each row, then for each variable

BELOW, CORNER, ABOVE = -1, 0, 1
"""Of a row: slope saturated low, error 0, slope saturated high. Of a variable: lower bound, free, upper."""

SIGN_TOLERANCE = 1e-10  # wrong signs below this share of the largest entry are rounding
SMALLEST_STEP = 1e-8  # ... but an error below the product of the two is rounding in any case
SYSTEMS = 12  # linear systems solved before giving up: the method may cycle
SOFTNESS = 1e-10  # of dependent rows in `correct`, relative to the curvature
CORRECTIONS = 3  # of a solution by `correct`: each gains many digits
RESIDUAL = 1e-9  # error of the rows in their corner that a usable solution may leave, relative to b


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


def solve_from_guess(qp: QP, states: States, systems: int = SYSTEMS) -> QPSolution | None:
    """The exact solution of ``qp``, or None when ``states`` does not lead to it within ``systems``."""
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
            _, _, solution, info = lapack.dgesv(K, rhs, overwrite_a=1, overwrite_b=1)
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
        size_d = SIGN_TOLERANCE * max(SMALLEST_STEP, largest(d))
        size_y = SIGN_TOLERANCE * max(size_g, largest(y))
        tolerance[:m] = dual_tolerance[m:] = size_d
        tolerance[m:] = dual_tolerance[:m] = size_y
        wrong_side = states * primal < -tolerance
        too_low = dual < low - dual_tolerance
        too_high = dual > high + dual_tolerance
        if not np.logical_or.reduce(wrong_side | too_low | too_high):
            if largest(errors[corner]) > RESIDUAL * max(1.0, largest(b[corner])):
                return None
            np.minimum(np.maximum(dual, low, out=dual), high, out=dual)
            return QPSolution(d, y, z, states)
        states = states.copy()
        states[wrong_side] = CORNER
        states[too_low] = BELOW
        states[too_high] = ABOVE
    return None


def correct(qp: QP, solution: QPSolution) -> QPSolution:
    """``solution`` of a hard QP, known to some digits, made accurate where its active rows are dependent.

    Multipliers of dependent rows are not unique, so no linear system gives them. The nearest ones do: the
    residuals of the optimality conditions and of the active rows are removed by the smallest change. What
    then has the wrong sign moves, as in `solve_from_guess`. The best solution seen is returned.
    """
    best, error = solution, _residual(qp, solution)
    m = qp.b.size
    seen = set()
    for _ in range(SYSTEMS):
        seen.add(solution.states.tobytes())
        corrected = _nearest(qp, solution)
        if corrected is None:
            break
        d, y, z, states = corrected.d, corrected.y, corrected.z, corrected.states.copy()
        errors = qp.a @ d + qp.b
        small = SIGN_TOLERANCE * max(SMALLEST_STEP, largest(d))
        small_dual = SIGN_TOLERANCE * max(largest(qp.g), largest(y))
        rows, variables = states[:m], states[m:]
        rows[(rows == CORNER) & (y < qp.low[:m] - small_dual)] = BELOW
        rows[(rows == BELOW) & (errors > small)] = CORNER
        variables[variables * z < -small_dual] = CORNER
        variables[d < qp.low[m:] - small] = BELOW
        variables[d > qp.high[m:] + small] = ABOVE
        limited = QPSolution(
            np.minimum(np.maximum(d, qp.low[m:]), qp.high[m:]), np.maximum(y, qp.low[:m]), z, corrected.states
        )
        after = _residual(qp, limited)
        if after < error:
            best, error = limited, after
        if states.tobytes() in seen:
            break
        solution = QPSolution(d, np.where(rows == BELOW, 0.0, y), z, states)
    return best


def _nearest(qp: QP, solution: QPSolution) -> QPSolution | None:
    """The stationary point with the states of ``solution`` that is nearest to it, signs aside."""
    g, B, a, b, m = qp.g, qp.B, qp.a, qp.b, qp.b.size
    states = solution.states
    corner, free = (states[:m] == CORNER).nonzero()[0], (states[m:] == CORNER).nonzero()[0]
    k = free.size
    if not k:
        return None
    rows = a[corner][:, free]
    K = np.zeros((k + corner.size,) * 2)
    K[:k, :k], K[:k, k:], K[k:, :k] = B[free[:, None], free], rows.T, rows
    K[k:, k:].flat[:: corner.size + 1] = -SOFTNESS / max(largest(B.diagonal()), np.finfo(float).tiny)
    factor, pivots, info = lapack.dgetrf(K)
    if info:
        return None
    held = states[m:]
    d = np.where(held == BELOW, qp.low[m:], np.where(held == ABOVE, qp.high[m:], solution.d))
    y = solution.y.copy()
    for _ in range(CORRECTIONS):
        residual = np.concatenate([(B @ d + g + y @ a)[free], (a @ d + b)[corner]])
        change = lapack.dgetrs(factor, pivots, -residual)[0]
        if not all_finite(change):
            return None
        d[free] += change[:k]
        y[corner] += change[k:]
    z = np.where(held == CORNER, 0.0, -(B @ d + g + y @ a))
    return QPSolution(d, y, z, states)


def _residual(qp: QP, solution: QPSolution) -> float:
    """How far a solution of the hard QP misses its optimality conditions, relative to gradient and errors."""
    d, y, z, m = solution.d, solution.y, solution.z, qp.b.size
    errors = qp.a @ d + qp.b
    broken = np.where(solution.states[:m] == CORNER, np.abs(errors), np.maximum(errors, 0.0))
    signed = np.minimum(solution.states[m:] * z, 0.0)  # of a bound: a multiplier of the wrong sign
    stationarity = largest(qp.B @ d + qp.g + y @ qp.a + z) + largest(signed)
    size = max(largest(qp.g), largest(y)) or 1.0
    return stationarity / size + largest(broken) / max(1.0, largest(qp.b))
