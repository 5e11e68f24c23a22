"""Curvature from the user's second derivatives."""

from __future__ import annotations

from ....types import Array, Mask
from ..model import Model
from ..points import Point
from .convexify import definite
from .large import secant_curvature
from .source import Matrix

__all__ = ["ExactCurvature"]


class ExactCurvature:
    """The user's Hessian of the Lagrangian, made positive definite where it is not."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._last: Array | None = None
        self._secant = secant_curvature(model.n, model.m)

    def begin(self, point: Point, scale: float) -> Matrix:
        """The plain multiple of the identity: where to go without multipliers is not known."""
        self._last = None
        return self._secant.begin(point, scale)

    def move(self, old: Point, new: Point, y: Array, corner: Mask) -> Matrix:
        """The Hessian at ``new``; where it is not known, the last one or, without any, a secant one."""
        H = self._model.hessian(new, y)
        if H is not None:
            self._last = definite(0.5 * (H + H.T), new.A[corner])
        return self._secant.move(old, new, y, corner) if self._last is None else self._last
