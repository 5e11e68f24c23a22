"""A symmetric matrix made positive definite, by as little as possible."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from ....core import compiled
from ....types import Array

__all__ = ["convexified", "definite", "is_definite", "unit_gram"]

LIMITS = (1e-10, 1e12)  # of a scalar curvature
CONVEXIFYING = 2.0  # times the most negative eigenvalue: weight of the active rows' JᵀJ
CONVEXIFYING_GROWTH, CONVEXIFYING_TRIALS = 10.0, 4  # factor on that weight where it is not enough; how often
EXACT_DEFINITE = 1e-8  # smallest eigenvalue of a usable exact Hessian, relative to its largest entry
EXACT_CONVEXIFYING = 1e-4  # weight of the active rows' JᵀJ at least, relative to the largest entry


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


def unit_gram(rows: Array) -> Array:
    """Σ of the outer products of the rows (m, n), each made a unit vector."""
    squares = np.maximum(np.vecdot(rows, rows), np.finfo(float).tiny)
    gram: Array = (rows.T / squares) @ rows
    return gram


@compiled
def is_definite(B: Array, smallest: float) -> bool:
    """Whether every eigenvalue of the symmetric ``B`` exceeds ``smallest``; False where an entry is NaN."""
    shifted = B.copy(order="F")
    shifted.flat[:: B.shape[0] + 1] -= smallest
    factor, info = lapack.dpotrf(shifted, overwrite_a=1, clean=0)
    return info == 0 and math.isfinite(factor.trace())
