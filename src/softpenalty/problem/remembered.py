"""The last few answers of the user's functions, so that each point is asked for once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import compiled
from ..types import Array
from .calls import Calls
from .functions import Functions

__all__ = ["Answer", "Remembered"]

POINTS = 4  # enough for a line search that goes back to an earlier trial


@compiled
@dataclass(slots=True)
class Answer:
    """What is known at a point."""

    objective: float
    values: Array  #: (k,)
    gradient: Any = None  #: (n,)
    jacobian: Any = None  #: (k, n)
    noise: Array | None = None
    """(1 + k,) what rounding leaves in differences with respect to a variable of size 1, 0 without them."""


@compiled
class Remembered:
    """Who asks `calls`, and keeps the answers for a while.

    Attributes
    ----------
    functions, calls : the user's functions, and who asks them
    sizes : how many values each constraint has, known after the first answer
    njev : points at which derivatives were asked for
    spacing : relative spacing of the numbers that objective and constraints return, (1 + k,), as far as seen
    """

    functions: Functions
    calls: Calls
    sizes: list[int] | None
    njev: int
    spacing: Array | float
    _points: dict[bytes, Answer]
    _pinned: bytes | None
    _n: int | None

    def at(self, x: Array) -> Answer:
        """What is known at x (n,), the values at least."""
        key = x.tobytes()
        known = self._points.get(key)
        if known is not None:
            return known
        if x.size != self._n:
            self._check_variables(x.size)
        found = self.calls.values(x)
        if found is None:
            point = Answer(np.nan, np.full(sum(self.sizes or ()), np.nan))
        else:
            objective, values, sizes, gradient = found
            if sizes != self.sizes:
                self._check_sizes(sizes)
            point = Answer(objective, values, gradient)
        if len(self._points) >= POINTS:
            oldest, *others = self._points
            del self._points[others[0] if oldest == self._pinned else oldest]
        self._points[key] = point
        return point

    def differentiated(self, x: Array) -> Answer:
        """All that is known at x (n,), with the derivatives, which are NaN where one failed."""
        point = self.at(x)
        if point.jacobian is None:
            self.njev += 1
            if self.functions.all_given and self.calls.journal is None:
                found = self.calls.derivatives(x, self.sizes or [])
                point.gradient, point.jacobian = found or self._no_derivatives(x.size)
            else:
                self._differentiate(x, point)
        return point

    def _no_derivatives(self, n: int) -> tuple[Array, Array]:
        """Gradient and Jacobian of functions that failed."""
        return np.full(n, np.nan), np.full((sum(self.sizes or []), n), np.nan)

    @abstractmethod
    def _check_variables(self, n: int) -> None:
        """Take in the number of variables, or raise ValueError where it is another one."""

    @abstractmethod
    def _check_sizes(self, sizes: list[int]) -> None:
        """Take in how many values each constraint has, or raise WrongShapeError where it had others."""

    @abstractmethod
    def _differentiate(self, x: Array, point: Answer) -> None:
        """Fill in gradient and Jacobian where some are differenced, or kept for another run."""
