"""Curvature of many variables from first derivatives, without any n × n matrix; and who takes which."""

from __future__ import annotations

import numpy as np

from ....types import Array, Mask
from ..points import Point
from .compact import CompactMatrix
from .convexify import CONVEXIFYING, CONVEXIFYING_GROWTH, CONVEXIFYING_TRIALS
from .limited import LimitedCurvature
from .secant import (
    DEFINITE,
    SPANNED,
    SecantCurvature,
    bfgs_products,
    initial_matrix,
    pairs_kept,
    sr1_products,
)
from .source import Curvature

__all__ = ["LargeCurvature", "secant_curvature"]

LARGE = 200  # variables beyond which factorizations of n × n matrices take longer than working around them


def secant_curvature(n: int, m: int) -> Curvature:
    """The source of curvature from first derivatives for n variables and m rows."""
    if n <= SPANNED or (m and n <= LARGE):
        return SecantCurvature(n, m)
    return LargeCurvature(n, m) if m else LimitedCurvature(n)


class LargeCurvature:
    """The matrices of `SecantCurvature`, each kept as a diagonal and a few vectors."""

    def __init__(self, n: int, m: int) -> None:
        self._n, self._scalar, self._steps = n, 1.0, 0
        self._memory = k = pairs_kept(n, m)  # places that are written to in turn
        self._S, self._G, self._J = np.empty((k, n)), np.empty((k, n)), np.empty((k, m, n))

    def begin(self, point: Point, scale: float) -> CompactMatrix:
        """Forget all steps."""
        self._scalar, self._steps = scale, 0
        return self._plain(scale)

    def _plain(self, scale: float) -> CompactMatrix:
        return CompactMatrix(np.full(self._n, scale), np.empty((0, self._n)), np.empty((0, 0)))

    def move(self, old: Point, new: Point, y: Array, corner: Mask) -> CompactMatrix:
        """Remember the step and rebuild."""
        place = self._steps % self._memory
        np.subtract(new.x, old.x, out=self._S[place])
        np.subtract(new.g, old.g, out=self._G[place])
        np.subtract(new.A, old.A, out=self._J[place])
        self._steps += 1
        oldest_first = np.arange(max(0, self._steps - self._memory), self._steps) % self._memory
        S = self._S[oldest_first]
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow ends as "not definite"
            Y = np.array([self._G[i] + y @ self._J[i] for i in oldest_first])
            return self._matrix(S, Y, new.A[corner])

    def _matrix(self, S: Array, Y: Array, active: Array) -> CompactMatrix:
        """Positive definite, from pairs (k, n) and active rows (c, n)."""
        ss, sy = np.vecdot(S, S), np.vecdot(S, Y)
        self._scalar, diagonal = initial_matrix(S, Y, ss, sy, self._scalar)
        smallest = DEFINITE * self._scalar
        B = CompactMatrix.of_products(diagonal, *sr1_products(S, Y, ss, diagonal))
        if B.is_definite(smallest):
            return B
        weight = CONVEXIFYING * self._scalar
        for _ in range(CONVEXIFYING_TRIALS if len(active) else 0):
            augmented = B.plus(active, weight)
            if augmented.is_definite(smallest):
                return augmented
            weight *= CONVEXIFYING_GROWTH
        start, V, share = bfgs_products(S, Y, ss, sy, self._scalar)
        B = CompactMatrix.of_products(np.full(self._n, start), V, share)
        return B if B.is_definite(0.0) else self._plain(self._scalar)
