"""Curvature of many variables without rows: BFGS from the last few pairs, never as an n × n matrix.

Without rows there are no multipliers that change, so a pair stays as it is; and where few pairs are kept,
most directions have no other curvature than the one begun with: the largest along the newest pair (Liu &
Nocedal 1989). Everything costs as many operations as the pairs have entries.
"""

from __future__ import annotations

import numpy as np

from ....core import compiled
from ....types import Array, Mask, States
from ...norms import all_finite
from ..points import Point
from .compact import CompactMatrix
from .convexify import LIMITS

__all__ = ["MEMORY", "LimitedCurvature", "LimitedMatrix"]

MEMORY = 10  # pairs kept; four times as many save 5 % of the iterations
ROOM = 2 * MEMORY  # places for pairs: the last ones move to the front only when all are taken
FADING = 0.1  # on the scale where a step shows no curvature
PAIRING = 1e-8  # pairs with s·y below this share of |s||y| are left out


class LimitedMatrix(CompactMatrix):
    """B > 0: ``scale`` times the identity, updated by BFGS with pairs S, Y (k, n), all with s·y = 1."""

    def __init__(self, scale: float, S: Array, Y: Array) -> None:
        self._scale, self._S, self._Y = scale, S, Y

    def step(self, g: Array, lower: Array, upper: Array, states: States) -> Array | None:
        """−B⁻¹·g (n,), or None where that leaves the bounds (n,) or one of them holds a variable already."""
        return limited_step(self._scale, self._S, self._Y, g, lower, upper, states)

    def __getattr__(self, name: str) -> Array:
        """D, W and M, made when they are asked for: only where variables are held at bounds."""
        if name not in ("D", "W", "M"):
            raise AttributeError(name)
        self.D, self.W, self.M = _compact(self._scale, self._S, self._Y)
        found: Array = getattr(self, name)
        return found


def _compact(scale: float, S: Array, Y: Array) -> tuple[Array, Array, Array]:
    """D (n,), W (2k, n) and M (2k, 2k) of BFGS from the identity (Byrd, Nocedal & Schnabel 1994)."""
    k = len(S)
    M = -np.eye(2 * k)
    M[k:, :k] = np.tril(S @ Y.T, -1)
    M[:k, k:] = M[k:, :k].T
    M[k:, k:] = scale * (S @ S.T)
    return np.full(S.shape[1], scale), np.concatenate([Y, scale * S]), M


@compiled
def limited_step(
    scale: float, S: Array, Y: Array, g: Array, lower: Array, upper: Array, states: States
) -> Array | None:
    """−B⁻¹·g (n,) by the two loops over the pairs (k, n) (Nocedal 1980), if no bound is in the way.

    None unless all ``states`` (n,) are 0 and the step is finite and inside the bounds (n,).
    """
    if states.any():
        return None
    d = -g
    shares = np.empty(len(S))
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow ends as "not finite"
        for i in range(len(S) - 1, -1, -1):
            shares[i] = S[i] @ d
            d -= shares[i] * Y[i]
        d /= scale
        for s, y, share in zip(S, Y, shares, strict=True):
            d += (share - y @ d) * s
    return d if all_finite(d) and (d >= lower).all() and (d <= upper).all() else None


class LimitedCurvature:
    """The last pairs of a problem of ``n`` variables without rows."""

    def __init__(self, n: int) -> None:
        self._S, self._Y = np.empty((ROOM, n)), np.empty((ROOM, n))
        self._end = self._count = 0
        self._scale = 1.0

    def begin(self, point: Point, scale: float) -> LimitedMatrix:
        """Forget all steps."""
        self._end, self._count, self._scale = 0, 0, scale
        return self._matrix()

    def move(self, old: Point, new: Point, y: Array, corner: Mask) -> LimitedMatrix:
        """Remember the step; where the objective did not curve upward along it, be less stiff instead."""
        if self._end == ROOM:
            for kept in (self._S, self._Y):
                kept[:MEMORY] = kept[ROOM - MEMORY :]
            self._end = MEMORY
        s, change = self._S[self._end], self._Y[self._end]
        scale = normalized_pair(old.x, new.x, old.g, new.g, s, change, PAIRING)
        if scale > 0.0:
            self._end += 1
            self._count = min(self._count + 1, MEMORY)
        self._scale = min(max(scale or FADING * self._scale, LIMITS[0]), LIMITS[1])
        return self._matrix()

    def _matrix(self) -> LimitedMatrix:
        kept = slice(self._end - self._count, self._end)
        return LimitedMatrix(self._scale, self._S[kept], self._Y[kept])


@compiled
def normalized_pair(
    x: Array, new_x: Array, g: Array, new_g: Array, s: Array, y: Array, pairing: float
) -> float:
    """Put step and change of the gradient, divided by √(s·y), into ``s`` and ``y`` (n,); y·y/s·y, or 0.

    It is 0 where s·y is below ``pairing`` of |s||y|: then the pair is of no use.
    """
    np.subtract(new_x, x, out=s)
    np.subtract(new_g, g, out=y)
    sy, yy = float(s @ y), float(y @ y)
    if not (np.isfinite(yy) and sy > pairing * np.sqrt(float(s @ s) * yy)):
        return 0.0
    factor = 1.0 / np.sqrt(sy)
    s *= factor
    y *= factor
    return yy / sy
