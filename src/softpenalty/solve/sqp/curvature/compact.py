"""A symmetric matrix of many variables kept as a diagonal and a few vectors.

B = diag(D) − WᵀM⁻¹W with W (k, n) and M (k, k), k ≪ n: products, systems and the question whether B is
positive definite cost about k²n operations instead of n³.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.linalg import lapack

from ....types import Array, Indices

__all__ = ["CompactMatrix", "CompactSystem"]


class CompactMatrix:
    """diag(D) − WᵀM⁻¹W, for D (n,) > 0, W (k, n) and a symmetric M (k, k) that is not singular."""

    def __init__(self, D: Array, W: Array, M: Array) -> None:
        self.D, self.W, self.M = D, W, M

    @functools.cached_property
    def inverse(self) -> Array:
        """M⁻¹."""
        return np.asarray(np.linalg.inv(self.M), dtype=float)

    @classmethod
    def of_products(cls, D: Array, V: Array, share: Array) -> CompactMatrix:
        """diag(D) + Vᵀ·diag(share)·V."""
        return cls(D, V * np.sqrt(np.abs(share))[:, None], np.diag(-np.sign(share)))

    def plus(self, rows: Array, weight: float) -> CompactMatrix:
        """This matrix + ``weight`` times the outer products of the ``rows`` (c, n), made unit vectors."""
        squares = np.maximum(np.vecdot(rows, rows), np.finfo(float).tiny)
        W = np.concatenate([self.W, rows * np.sqrt(weight / squares)[:, None]])
        k, M = len(self.M), -np.eye(len(W))
        M[:k, :k] = self.M
        return CompactMatrix(self.D, W, M)

    def __matmul__(self, d: Array) -> Array:
        """B·d (n,)."""
        return self.D * d - (self.inverse @ (self.W @ d)) @ self.W

    def dense(self) -> Array:
        """B as an (n, n) matrix."""
        B: Array = -self.W.T @ (self.inverse @ self.W)
        B.flat[:: self.D.size + 1] += self.D
        return 0.5 * (B + B.T)

    def is_definite(self, smallest: float) -> bool:
        """Whether every eigenvalue exceeds ``smallest``, which must be below D.

        The matrix [[D, Wᵀ], [W, M]] has as many negative eigenvalues as M and B together, and as many as D
        and M − W·D⁻¹·Wᵀ together (Haynsworth 1968); D has none.
        """
        left = self.M - (self.W / (self.D - smallest)) @ self.W.T
        return _negative(left) == _negative(self.M)

    def among(self, free: Indices) -> CompactSystem:
        """Systems with the rows and columns ``free`` of the matrix."""
        return CompactSystem(self.D[free], self.W.take(free, axis=1), self.M)


class CompactSystem:
    """B⁻¹ = D⁻¹ + D⁻¹WᵀN⁻¹WD⁻¹ with N = M − W·D⁻¹·Wᵀ; `numpy.linalg.LinAlgError` where N is singular."""

    def __init__(self, D: Array, W: Array, M: Array) -> None:
        self._D, self._W = D, W
        self._scaled = W / D
        self._inverse = np.linalg.inv(M - self._scaled @ W.T)

    def solve(self, r: Array) -> Array:
        """B⁻¹·r."""
        return r / self._D + (self._inverse @ (self._scaled @ r)) @ self._scaled

    def between(self, a: Array) -> Array:
        """a·B⁻¹·aᵀ (c, c) for rows a (c, n)."""
        roots, mixed = a / np.sqrt(self._D), a @ self._scaled.T
        product: Array = roots @ roots.T
        return product + mixed @ self._inverse @ mixed.T


def _negative(M: Array) -> int:
    """How many eigenvalues of M (k, k) are negative, −1 where that is not known.

    As many as those of the blocks in LDLᵀ (Bunch & Kaufman 1977), of which each 2 × 2 has one.
    """
    if not np.isfinite(M).all():
        return -1
    factor, pivots, info = lapack.dsytrf(M, lower=1)
    single = pivots > 0
    return int((factor.diagonal()[single] < 0.0).sum() + (~single).sum() // 2) if info == 0 else -1
