"""Curvature from first derivatives: SR1 rebuilt at every iteration, else damped BFGS.

Both matrices are a diagonal plus a sum of outer products, one or two a pair, and are kept as such until all
pairs are in: then one matrix product gives B. A pair costs as many numbers as the products before it, not n².
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ....core import compiled
from ....types import Array, Mask
from ..points import Point
from .convexify import (
    CONVEXIFYING,
    CONVEXIFYING_GROWTH,
    CONVEXIFYING_TRIALS,
    LIMITS,
    convexified,
    is_definite,
)

__all__ = [
    "SPANNED",
    "SecantCurvature",
    "bfgs_products",
    "damped_bfgs",
    "initial_matrix",
    "pairs_kept",
    "sr1_products",
]

PAIRING = 1e-8  # s·y and SR1 denominators below this share of |s||y| carry no curvature
FADING = 0.1  # on the scalar curvature when no pair has a positive one
SPANNED = 100  # variables up to which 2n pairs are kept, which span their space
MEMORY = (10, 2, 40)  # pairs kept: at least 10; 2n; 40 where they do not span the space
MEMORY_ENTRIES = 20_000_000  # ... but no more numbers than this (160 MB)
DIAGONAL_SPREAD = 10.0  # entries of the initial diagonal stay within this factor of the scalar curvature
TINY = 1e-30  # relative; in place of a zero divisor
DEFINITE = 1e-4  # smallest eigenvalue of a usable secant matrix, relative to the scalar curvature
DAMPING = 0.2  # s·y ≥ 0.2 s·Bs (Powell 1978)
SETTINGS = (
    PAIRING, FADING, *LIMITS, DIAGONAL_SPREAD, TINY, DEFINITE, DAMPING,
    CONVEXIFYING, CONVEXIFYING_GROWTH, CONVEXIFYING_TRIALS, SPANNED,
)  # fmt: skip


def pairs_kept(n: int, m: int) -> int:
    """How many pairs of n variables and m rows to keep."""
    pairs = MEMORY[1] * n if n <= SPANNED else MEMORY[2]
    return max(MEMORY[0], min(pairs, MEMORY_ENTRIES // max(1, m * n)))


class SecantCurvature:
    """SR1 rebuilt at every iteration from the last steps with the current multipliers.

    The steps are kept with the changes of gradient and Jacobian rather than of the Lagrangian's gradient:
    when the multipliers change, so do all pairs.
    """

    def __init__(self, n: int, m: int) -> None:
        self.memory = pairs_kept(n, m)
        self.n, self.m = n, m
        self.scalar = 1.0
        self.count = 0
        # Steps, changes of the gradient and of the Jacobian.
        k = self.memory
        self._pairs = np.empty((k, n)), np.empty((k, n)), np.empty((k, m, n))

    def begin(self, point: Point, scale: float) -> Array:
        """Forget all steps."""
        self.scalar = scale
        self.count = 0
        return scale * np.eye(self.n)

    def move(self, old: Point, new: Point, y: Array, corner: Mask) -> Array:
        """Remember the step and rebuild."""
        S, G, J = self._pairs
        moved = moved_matrix(S, G, J, self.count, old, new, y, corner, self.scalar, SETTINGS)
        B, self.scalar, self.count = moved
        return B


@compiled
def moved_matrix(
    S: Array,
    G: Array,
    J: Array,
    k: int,
    old: Point,
    new: Point,
    y: Array,
    corner: Mask,
    scalar: float,
    settings: tuple[float, ...],
) -> tuple[Array, float, int]:
    """`secant_matrix`, and the number of pairs, after one more step; ``k`` were kept before.

    Where all places are taken, the oldest pair goes.
    """
    if k == len(S):
        k -= 1
        for kept in (S, G, J):
            kept[:-1] = kept[1:]
    np.subtract(new.x, old.x, out=S[k])
    np.subtract(new.g, old.g, out=G[k])
    np.subtract(new.A, old.A, out=J[k])
    return *secant_matrix(S, G, J, k + 1, y, new.A, corner, scalar, settings), k + 1


@compiled
def secant_matrix(
    S: Array,
    G: Array,
    J: Array,
    k: int,
    y: Array,
    A: Array,
    corner: Mask,
    scalar: float,
    settings: tuple[float, ...],
) -> tuple[Array, float]:
    """Positive definite B (n, n) and the scalar curvature, from the last one.

    Parameters
    ----------
    S, G, J, k : (≥k, n), (≥k, n), (≥k, m, n) k steps, and changes of gradient and Jacobian over them
    y, A, corner : (m,), (m, n), (m,) multipliers, rows, and which of them are active
    """
    S, G, J = S[:k], G[:k], J[:k]
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow ends as "not definite"
        weighted = y.nonzero()[0]
        Y = G + np.tensordot(y[weighted], J[:, weighted], (0, 1)) if weighted.size else G
        ss, sy = np.vecdot(S, S), np.vecdot(S, Y)
        gamma, diagonal = initial_matrix(S, Y, ss, sy, scalar)
        B = _assembled(diagonal, *sr1_products(S, Y, ss, diagonal))
        if is_definite(B, DEFINITE * gamma):
            return B, gamma
        if corner.any():
            # Eigenvalues of large matrices take longer than some factorizations with growing weights.
            lowest = float(lapack.dsyev(B, compute_v=0)[0][0]) if len(B) <= SPANNED else 0.0
            augmented = convexified(B, A[corner], max(-lowest, gamma), DEFINITE * gamma)
            if augmented is not None:
                return augmented, gamma
        return damped_bfgs(S, Y, ss, sy, gamma), gamma


def initial_matrix(S: Array, Y: Array, ss: Array, sy: Array, scalar: float) -> tuple[float, Array]:
    """The scalar curvature, from the newest pair (k, n) that has one or the last, and a diagonal (n,)."""
    good = (sy > PAIRING * np.sqrt(ss * np.vecdot(Y, Y))).nonzero()[0]
    scalar = float(sy[good[-1]] / ss[good[-1]]) if good.size else FADING * scalar
    gamma = min(max(scalar, LIMITS[0]), LIMITS[1])
    return gamma, _diagonal(S, Y, gamma) if len(S) > 1 else np.full(S.shape[1], gamma)


def _diagonal(S: Array, Y: Array, gamma: float) -> Array:
    """Each variable's own curvature over all steps, near the scalar one."""
    # Variables that never moved get the scalar curvature: (0 + γ·tiny)/(0 + tiny).
    tiny = TINY * np.add.reduce(S * S, axis=None)
    diagonal = (np.add.reduce(S * Y) + gamma * tiny) / (np.add.reduce(S * S) + tiny)
    limited: Array = np.minimum(np.maximum(diagonal, gamma / DIAGONAL_SPREAD), gamma * DIAGONAL_SPREAD)
    return limited


def sr1_products(S: Array, Y: Array, ss: Array, diagonal: Array) -> tuple[Array, Array]:
    """Vectors (≤k, n) and the shares (≤k,) of their outer products that SR1 over the pairs (k, n) adds."""
    V, share, kept = np.empty_like(S), np.empty(len(S)), 0
    for s, residual, length in zip(S, Y - diagonal * S, ss.tolist(), strict=True):
        v = residual - (share[:kept] * (V[:kept] @ s)) @ V[:kept]
        vs = v.dot(s)
        if vs * vs > PAIRING * PAIRING * v.dot(v) * length:
            V[kept], share[kept] = v, 1.0 / vs
            kept += 1
    return V[:kept], share[:kept]


def damped_bfgs(S: Array, Y: Array, ss: Array, sy: Array, gamma: float) -> Array:
    """Powell-damped BFGS over the pairs (k, n) from their smallest curvature: always definite."""
    start, V, share = bfgs_products(S, Y, ss, sy, gamma)
    B = _assembled(np.full(S.shape[1], start), V, share)
    return B if is_definite(B, 0.0) else gamma * np.eye(S.shape[1])


def bfgs_products(S: Array, Y: Array, ss: Array, sy: Array, gamma: float) -> tuple[float, Array, Array]:
    """What damped BFGS begins with, vectors (≤2k, n) and the shares (≤2k,) of their outer products."""
    k, n = S.shape
    curved = np.flatnonzero(sy > 0.0)
    start = gamma
    if curved.size:
        start = float((sy[curved] / ss[curved]).min())
    start = min(max(start, LIMITS[0]), LIMITS[1])
    V, share, kept = np.empty((2 * k, n)), np.empty(2 * k), 0
    for s, change, product in zip(S, Y, sy.tolist(), strict=True):
        Bs = start * s + (share[:kept] * (V[:kept] @ s)) @ V[:kept]
        sBs = s.dot(Bs)
        if not sBs > 0.0:
            continue
        if product < DAMPING * sBs:
            theta = (1.0 - DAMPING) * sBs / (sBs - product)
            change = theta * change + (1.0 - theta) * Bs
            product = DAMPING * sBs
        V[kept : kept + 2] = change, Bs
        share[kept : kept + 2] = 1.0 / product, -1.0 / sBs
        kept += 2
    return start, V[:kept], share[:kept]


def _assembled(diagonal: Array, V: Array, share: Array) -> Array:
    """diag(diagonal) + Vᵀ·diag(share)·V."""
    B: Array = (V.T * share) @ V
    B.flat[:: diagonal.size + 1] += diagonal
    return B
