"""A solution of the hard QP made exact where its active rows are dependent."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ...norms import all_finite, largest
from .active_set import SIGN_TOLERANCE, SMALLEST_STEP, SYSTEMS
from .qp import ABOVE, BELOW, CORNER, QP, QPSolution

__all__ = ["correct"]

SOFTNESS = 1e-10  # of dependent rows in `correct`, relative to the curvature
CORRECTIONS = 3  # of a solution by `correct`: each gains many digits


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
