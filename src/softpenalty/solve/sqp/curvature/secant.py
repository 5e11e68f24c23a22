"""Curvature from first derivatives: SR1 rebuilt at every iteration, else damped BFGS."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ....types import Array, Mask
from ..model import Point
from .convexify import LIMITS, convexified, is_definite

__all__ = ["SecantCurvature", "damped_bfgs"]

PAIRING = 1e-8  # s·y and SR1 denominators below this share of |s||y| carry no curvature
FADING = 0.1  # on the scalar curvature when no pair has a positive one
MEMORY = (10, 2)  # pairs kept: at least 10, at least 2n
MEMORY_ENTRIES = 20_000_000  # ... but no more numbers than this (160 MB)
DIAGONAL_SPREAD = 10.0  # entries of the initial diagonal stay within this factor of the scalar curvature
TINY = 1e-30  # relative; in place of a zero divisor
DEFINITE = 1e-4  # smallest eigenvalue of a usable secant matrix, relative to the scalar curvature
DAMPING = 0.2  # s·y ≥ 0.2 s·Bs (Powell 1978)


class SecantCurvature:
    """SR1 rebuilt at every iteration from the last steps with the current multipliers.

    The steps are kept with the changes of gradient and Jacobian rather than of the Lagrangian's gradient:
    when the multipliers change, so do all pairs.
    """

    def __init__(self, n: int, m: int) -> None:
        self.memory = max(MEMORY[0], min(MEMORY[1] * n, MEMORY_ENTRIES // max(1, m * n)))
        self.n, self.m = n, m
        self.scalar = 1.0
        self.count = 0
        self._steps, self._gradients = np.empty((self.memory, n)), np.empty((self.memory, n))
        self._jacobians = np.empty((self.memory, m, n))

    def begin(self, point: Point, scale: float) -> Array:
        """Forget all steps."""
        self.scalar = scale
        self.count = 0
        return scale * np.eye(self.n)

    def move(self, old: Point, new: Point, y: Array, corner: Mask) -> Array:
        """Remember the step and rebuild."""
        if self.count == self.memory:
            for kept in (self._steps, self._gradients, self._jacobians):
                kept[:-1] = kept[1:]
            self.count -= 1
        k = self.count
        np.subtract(new.x, old.x, out=self._steps[k])
        np.subtract(new.g, old.g, out=self._gradients[k])
        np.subtract(new.A, old.A, out=self._jacobians[k])
        self.count += 1
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow ends as "not definite"
            return self.matrix(y, new.A[corner])

    def matrix(self, y: Array, active: Array) -> Array:
        """Positive definite (n, n) for multipliers ``y`` (m,) and active rows ``active`` (m_a, n)."""
        k = self.count
        S, Y = self._steps[:k], self._gradients[:k]
        if self.m:
            Y = Y + y @ self._jacobians[:k]
        ss, sy = np.vecdot(S, S), np.vecdot(S, Y)
        good = (sy > PAIRING * np.sqrt(ss * np.vecdot(Y, Y))).nonzero()[0]
        if good.size:
            self.scalar = float(sy[good[-1]] / ss[good[-1]])
        else:
            self.scalar *= FADING
        gamma = self.scalar = min(max(self.scalar, LIMITS[0]), LIMITS[1])
        B = np.zeros((self.n, self.n))
        B.flat[:: self.n + 1] = self._diagonal(S, Y, gamma) if k > 1 else gamma
        for s, change, length in zip(S, Y, ss.tolist(), strict=True):
            v = change - B.dot(s)
            vs = v.dot(s)
            if vs * vs > PAIRING * PAIRING * v.dot(v) * length:
                B += (v / vs)[:, None] * v
        if is_definite(B, DEFINITE * gamma):
            return B
        if active.shape[0]:
            lowest = float(lapack.dsyev(B, compute_v=0)[0][0])
            augmented = convexified(B, active, max(-lowest, gamma), DEFINITE * gamma)
            if augmented is not None:
                return augmented
        return damped_bfgs(S, Y, ss, sy, gamma)

    @staticmethod
    def _diagonal(S: Array, Y: Array, gamma: float) -> Array:
        """Each variable's own curvature over all steps, near the scalar one."""
        # Variables that never moved get the scalar curvature: (0 + γ·tiny)/(0 + tiny).
        tiny = TINY * np.add.reduce(S * S, axis=None)
        diagonal = (np.add.reduce(S * Y) + gamma * tiny) / (np.add.reduce(S * S) + tiny)
        limited: Array = np.minimum(np.maximum(diagonal, gamma / DIAGONAL_SPREAD), gamma * DIAGONAL_SPREAD)
        return limited


def damped_bfgs(S: Array, Y: Array, ss: Array, sy: Array, gamma: float) -> Array:
    """Powell-damped BFGS over the pairs (k, n) from their smallest curvature: always definite."""
    n = S.shape[1]
    curvatures = sy[sy > 0.0] / ss[sy > 0.0]
    start = float(curvatures.min()) if curvatures.size else gamma
    B = min(max(start, LIMITS[0]), LIMITS[1]) * np.eye(n)
    for s, change, product in zip(S, Y, sy.tolist(), strict=True):
        Bs = B.dot(s)
        sBs = s.dot(Bs)
        if not sBs > 0.0:
            continue
        if product < DAMPING * sBs:
            theta = (1.0 - DAMPING) * sBs / (sBs - product)
            change = theta * change + (1.0 - theta) * Bs
            product = DAMPING * sBs
        B += (change / product)[:, None] * change
        B -= (Bs / sBs)[:, None] * Bs
    return B if is_definite(B, 0.0) else gamma * np.eye(n)
