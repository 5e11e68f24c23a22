"""The penalty QP by a primal-dual path: always solvable, with multipliers kept inside their box.

With slopes [low, high] of every corner the optimality conditions are

    Bd + g + Aᵀy = 0,   Ad + b = u − v,   u·(high − y) = μ,   v·(y − low) = μ,   u, v ≥ 0,

followed to μ = 0 by Mehrotra's predictor and corrector.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import lapack

from ....core import compiled
from ....types import Array
from ...norms import largest
from .qp import ABOVE, BELOW, CORNER, QP, QPSolution, States

__all__ = ["solve_path"]

MAX_ITERATIONS = 60  # 10 to 15 are usual
END = 1e-11  # μ and residuals at the end, relative to the data
USABLE = 1e-6  # μ below which a path that broke down still gives a usable step
BOUNDARY_FRACTION = 0.99  # share of the way to the boundary a step may go
CENTRING_POWER = 3  # Mehrotra's (μ_affine/μ)³
SMALLEST = 1e-25  # floor of u, v and of the distances of y to its box, kept apart since they cancel
START_SLACK = (1e-3, 1.0)  # limits of the slack added at the start
DIAGONAL_SHIFT = 1e-12  # relative; added once when rounding spoils the factorization
SETTINGS = (
    MAX_ITERATIONS, END, USABLE, BOUNDARY_FRACTION, CENTRING_POWER, SMALLEST, *START_SLACK, DIAGONAL_SHIFT
)  # fmt: skip


def solve_path(qp: QP, deadline: float = np.inf) -> QPSolution | None:
    """Follow the path to its end, or until the clock shows ``deadline``; None when that is far from it."""
    found = followed(qp, deadline, SETTINGS)
    return None if found is None else QPSolution(*found)


@compiled
def followed(
    qp: QP, deadline: float, settings: tuple[float, ...]
) -> tuple[Array, Array, Array, States] | None:
    """Step (n,), multipliers of rows (m,) and bounds (n,), and states (m + n,) at the path's end, or None."""
    path = _Path(qp)
    for _ in range(MAX_ITERATIONS):
        if path.at_end() or time.perf_counter() > deadline or not path.advance():
            break
    return path.solution() if path.mu <= USABLE * path.size_g else None


class _Path:
    """A point on the way.

    Bounds on the step become rows with multipliers in [0, ∞), so the arrays have M = m + (finite bounds)
    entries. A side on which a multiplier cannot saturate has slack 0 and a gap that is a dummy 1.
    """

    def __init__(self, qp: QP) -> None:
        self.qp = qp
        n, m = qp.g.size, qp.b.size
        self.at_lower = np.flatnonzero(np.isfinite(qp.low[m:]))
        self.at_upper = np.flatnonzero(np.isfinite(qp.high[m:]))
        bounds = self.at_upper.size + self.at_lower.size
        eye = np.eye(n)
        self.A = np.concatenate([qp.a, eye[self.at_upper], -eye[self.at_lower]])
        self.b = np.concatenate([qp.b, -qp.high[m:][self.at_upper], qp.low[m:][self.at_lower]])
        low = np.concatenate([qp.low[:m], np.zeros(bounds)])
        high = np.concatenate([qp.high[:m], np.full(bounds, np.inf)])
        self.up, self.down = np.isfinite(high), np.isfinite(low)
        self.pairs = max(int(self.up.sum() + self.down.sum()), 1)
        # Without an objective the rows' own weight is what multipliers are measured by.
        self.size_g = largest(qp.g) or largest(high[self.up]) or 1.0
        self.size_b = max(1.0, largest(self.b))
        inside = low + np.minimum(self.size_g, 0.5 * (high - low))
        self.y = np.where(low < 0.0, 0.0, inside)
        self.gap_high = np.where(self.up, high - self.y, 1.0)
        self.gap_low = np.where(self.down, self.y - low, 1.0)
        slack = float(np.clip(np.abs(self.b).mean(), *START_SLACK)) if self.b.size else 1.0
        self.u = np.where(self.up, np.maximum(self.b, 0.0) + slack, 0.0)
        self.v = np.where(self.down, np.maximum(-self.b, 0.0) + slack, 0.0)
        self.d = np.zeros(n)
        self._measure()

    def _measure(self) -> None:
        self.rd = self.qp.B @ self.d + self.qp.g + self.y @ self.A
        self.rp = self.A @ self.d + self.b - self.u + self.v
        self.mu = self._gap(self.u, self.v, self.gap_high, self.gap_low)

    def _gap(self, u: Array, v: Array, gap_high: Array, gap_low: Array) -> float:
        return float((u * gap_high)[self.up].sum() + (v * gap_low)[self.down].sum()) / self.pairs

    def at_end(self) -> bool:
        """Whether gap and residuals are small enough."""
        residual = max(largest(self.rd) / self.size_g, largest(self.rp) / self.size_b)
        return self.mu <= END * self.size_g and residual <= END

    def advance(self) -> bool:
        """One predictor and corrector; False when that is numerically impossible."""
        self.E = np.maximum(self.u / self.gap_high + self.v / self.gap_low, SMALLEST)
        factor = _factor(self.qp.B + (self.A.T / self.E) @ self.A)
        if factor is None:
            return False
        self.factor = factor
        u, v, up, down = self.u, self.v, self.up, self.down
        ru, rv = np.where(up, -u * self.gap_high, 0.0), np.where(down, -v * self.gap_low, 0.0)
        dd, dy, du, dv = self._direction(ru, rv)
        t = min(1.0, self._longest(dy, du, dv))
        affine = self._gap(u + t * du, v + t * dv, self.gap_high - t * dy, self.gap_low + t * dy)
        target = self.mu * min(1.0, max(affine, 0.0) / max(self.mu, SMALLEST)) ** CENTRING_POWER
        ru = np.where(up, ru + target + du * dy, 0.0)
        rv = np.where(down, rv + target - dv * dy, 0.0)
        dd, dy, du, dv = self._direction(ru, rv)
        if not np.isfinite(dd).all():
            return False
        t = min(1.0, max(BOUNDARY_FRACTION, 1.0 - self.mu) * self._longest(dy, du, dv))
        self.d = self.d + t * dd
        self.y = self.y + t * dy
        self.u = np.where(up, np.maximum(u + t * du, SMALLEST), 0.0)
        self.v = np.where(down, np.maximum(v + t * dv, SMALLEST), 0.0)
        self.gap_high = np.where(up, np.maximum(self.gap_high - t * dy, SMALLEST), 1.0)
        self.gap_low = np.where(down, np.maximum(self.gap_low + t * dy, SMALLEST), 1.0)
        self._measure()
        return True

    def _direction(self, ru: Array, rv: Array) -> tuple[Array, Array, Array, Array]:
        """Newton's direction (d, y, u, v) for the complementarity residuals ``ru`` and ``rv``."""
        r2 = -self.rp + ru / self.gap_high - rv / self.gap_low
        dd, _ = lapack.dpotrs(self.factor, (r2 / self.E) @ self.A - self.rd, lower=1)
        dy = (self.A @ dd - r2) / self.E
        du = np.where(self.up, (ru + self.u * dy) / self.gap_high, 0.0)
        dv = np.where(self.down, (rv - self.v * dy) / self.gap_low, 0.0)
        return dd, dy, du, dv

    def _longest(self, dy: Array, du: Array, dv: Array) -> float:
        """Longest step that keeps slacks and gaps from becoming negative."""
        return min(
            _ratio(self.u, du),
            _ratio(self.v, dv),
            _ratio(self.gap_high, np.where(self.up, -dy, 0.0)),
            _ratio(self.gap_low, np.where(self.down, dy, 0.0)),
        )

    def solution(self) -> tuple[Array, Array, Array, States]:
        """The step with multipliers, and the states that slacks and gaps suggest."""
        qp, y = self.qp, self.y
        n, m = qp.g.size, qp.b.size
        k = m + self.at_upper.size
        states = np.zeros(self.b.size, dtype=np.int8)
        states[self.up & (self.u > self.gap_high)] = ABOVE
        states[self.down & (self.v > self.gap_low)] = BELOW
        variables = np.zeros(n, dtype=np.int8)
        variables[self.at_upper[states[m:k] == CORNER]] = ABOVE
        variables[self.at_lower[states[k:] == CORNER]] = BELOW
        z = np.zeros(n)
        z[self.at_upper] += y[m:k]
        z[self.at_lower] -= y[k:]
        return (
            np.clip(self.d, qp.low[m:], qp.high[m:]),
            np.clip(y[:m], qp.low[:m], qp.high[:m]),
            z,
            np.concatenate([states[:m], variables]),
        )


def _factor(M: Array) -> Array | None:
    """Cholesky factor of a matrix that is positive definite up to rounding, or None."""
    for shift in (0.0, DIAGONAL_SHIFT):
        shifted = M + shift * float(np.abs(M.diagonal()).max()) * np.eye(M.shape[0])
        factor, info = lapack.dpotrf(shifted, lower=1)
        if info == 0 and np.isfinite(factor).all():
            return np.asarray(factor)
    return None


def _ratio(value: Array, change: Array) -> float:
    """Largest t with value + t·change ≥ 0."""
    falling = change < 0.0
    if not falling.any():
        return np.inf
    with np.errstate(over="ignore"):
        return float((-value[falling] / change[falling]).min())
