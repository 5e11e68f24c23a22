"""The Hessian of the Lagrangian as the subproblem needs it: positive definite, with current multipliers.

Two sources share the interface `move(old, new, y, corner) → matrix`: `SecantCurvature`, from first
derivatives only, and `ExactCurvature`, from the user's second derivatives.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from .point import Array, Mask, Model, Point

__all__ = ["Curvature", "ExactCurvature", "SecantCurvature", "damped_bfgs", "is_definite"]

PAIRING = 1e-8  # s·y and SR1 denominators below this share of |s||y| carry no curvature
LIMITS = (1e-10, 1e12)  # of a scalar curvature
FADING = 0.1  # on the scalar curvature when no pair has a positive one
MEMORY = (10, 2)  # pairs kept: at least 10, at least 2n
MEMORY_ENTRIES = 20_000_000  # ... but no more numbers than this (160 MB)
DIAGONAL_SPREAD = 10.0  # entries of the initial diagonal stay within this factor of the scalar curvature
TINY = 1e-30  # relative; in place of a zero divisor
DEFINITE = 1e-4  # smallest eigenvalue of a usable secant matrix, relative to the scalar curvature
CONVEXIFYING = 2.0  # times the most negative eigenvalue: weight of the active rows' JᵀJ
CONVEXIFYING_GROWTH, CONVEXIFYING_TRIALS = 10.0, 4  # factor on that weight where it is not enough; how often
DAMPING = 0.2  # s·y ≥ 0.2 s·Bs (Powell 1978)
EXACT_DEFINITE = 1e-8  # smallest eigenvalue of a usable exact Hessian, relative to its largest entry
EXACT_CONVEXIFYING = 1e-4  # weight of the active rows' JᵀJ at least, relative to the largest entry


class Curvature(Protocol):
    """A source of positive definite matrices for the subproblem."""

    def begin(self, point: Point, scale: float) -> Array:
        """The first matrix, or the one after a restart, of size ``scale``."""
        ...

    def move(self, old: Point, new: Point, y: Array, corner: Mask) -> Array:
        """The matrix at ``new`` for row multipliers ``y`` (m,) and rows ``corner`` (m,) in their corner."""
        ...


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


class ExactCurvature:
    """The user's Hessian of the Lagrangian, made positive definite where it is not."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._last: Array | None = None
        self._secant = SecantCurvature(model.n, model.m)

    def begin(self, point: Point, scale: float) -> Array:
        """The plain multiple of the identity: where to go without multipliers is not known."""
        self._last = None
        return self._secant.begin(point, scale)

    def move(self, old: Point, new: Point, y: Array, corner: Mask) -> Array:
        """The Hessian at ``new``; where it is not known, the last one or, without any, a secant one."""
        H = self._model.hessian(new, y)
        if H is not None:
            self._last = definite(0.5 * (H + H.T), new.A[corner])
        return self._secant.move(old, new, y, corner) if self._last is None else self._last


def definite(H: Array, active: Array) -> Array:
    """``H`` if it is positive definite, else with the active rows' JᵀJ added, else with |eigenvalues|."""
    size = max(float(np.abs(H).max()), LIMITS[0])
    if is_definite(H, EXACT_DEFINITE * size):
        return H
    values, vectors = np.linalg.eigh(H)
    if active.shape[0]:
        weight = max(-float(values[0]), EXACT_CONVEXIFYING * size)
        augmented = convexified(H, active, weight, EXACT_DEFINITE * size)
        if augmented is not None:
            return augmented
    return np.asarray((vectors * np.maximum(np.abs(values), EXACT_DEFINITE * size)) @ vectors.T)


def convexified(B: Array, active: Array, weight: float, smallest: float) -> Array | None:
    """``B`` + as little of the active rows' JᵀJ as makes it definite, None when that does not help.

    Adding JᵀJ of rows whose error the step makes zero does not change the step, only its definiteness.
    """
    gram = CONVEXIFYING * weight * unit_gram(active)
    for _ in range(CONVEXIFYING_TRIALS):
        augmented = B + gram
        if is_definite(augmented, smallest):
            return augmented
        gram *= CONVEXIFYING_GROWTH
    return None


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


def unit_gram(rows: Array) -> Array:
    """Σ of the outer products of the rows (m, n), each made a unit vector."""
    squares = np.maximum(np.vecdot(rows, rows), np.finfo(float).tiny)
    gram: Array = (rows.T / squares) @ rows
    return gram


def is_definite(B: Array, smallest: float) -> bool:
    """Whether every eigenvalue of the symmetric ``B`` exceeds ``smallest``; False where an entry is NaN."""
    shifted = B.copy(order="F")
    shifted.flat[:: B.shape[0] + 1] -= smallest
    factor, info = lapack.dpotrf(shifted, overwrite_a=1, clean=0)
    return info == 0 and math.isfinite(factor.trace())
