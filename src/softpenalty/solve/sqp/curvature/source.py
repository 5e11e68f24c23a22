"""What the loop asks of a source of curvature; another Hessian is another file with this one class."""

from __future__ import annotations

from typing import Protocol

from ....types import Array, Mask
from ..points import Point
from .compact import CompactMatrix

__all__ = ["Curvature", "Matrix"]

Matrix = Array | CompactMatrix


class Curvature(Protocol):
    """A source of positive definite matrices for the subproblem."""

    def begin(self, point: Point, scale: float) -> Matrix:
        """The first matrix, or the one after a restart, of size ``scale``."""
        ...

    def move(self, old: Point, new: Point, y: Array, corner: Mask) -> Matrix:
        """The matrix at ``new`` for row multipliers ``y`` (m,) and rows ``corner`` (m,) in their corner."""
        ...
