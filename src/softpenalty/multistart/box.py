"""The box of the bounds as a unit cube of the variables that are free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problem.scipy_forms import read_bounds
from ..types import Array

__all__ = ["Box"]


@dataclass(frozen=True)
class Box:
    """Finite bounds: ``lower`` and ``upper`` (n,), with `k` free variables between them."""

    lower: Array
    upper: Array

    @classmethod
    def read(cls, bounds: Any) -> Box:
        """The box of `search`'s bounds, which must be finite."""
        limits = read_bounds("search", bounds, None)
        if limits is None:
            raise ValueError("`search(bounds=...)` must be given: the search goes on inside a box.")
        lower, upper = np.broadcast_arrays(*map(np.atleast_1d, limits))
        if lower.ndim != 1 or not lower.size:
            raise ValueError(f"`search(bounds=...)` must have one axis and an entry; got {bounds!r}.")
        infinite = np.flatnonzero(~(np.isfinite(lower) & np.isfinite(upper)))
        if infinite.size:
            i = infinite[0]
            raise ValueError(
                f"`search(bounds=...)` must be finite, since starts are drawn between them; got "
                f"({lower[i]}, {upper[i]}) for x[{i}]. Give limits that the solution surely respects, or use "
                "`minimize`, which needs none."
            )
        if (lower == upper).all():
            raise ValueError(f"`search(bounds=...)` must leave a variable free; got {bounds!r}.")
        return cls(lower.copy(), upper.copy())

    @property
    def free(self) -> Any:
        """Indices (k,) of the variables that are not fixed."""
        return np.flatnonzero(self.lower < self.upper)

    def unit(self, x: Array) -> Array:
        """x (n,) as a point (k,) of the unit cube."""
        free = self.free
        return np.asarray((x[free] - self.lower[free]) / (self.upper[free] - self.lower[free]))

    def point(self, unit: Array) -> Array:
        """The point x (n,) that `unit` (k,) stands for."""
        x, free = self.lower.copy(), self.free
        x[free] = np.clip(
            self.lower[free] + unit * (self.upper[free] - self.lower[free]),
            self.lower[free],
            self.upper[free],
        )
        return x
