"""All points evaluated so far, with what the functions returned there: nothing simulated is lost."""

from __future__ import annotations

import numpy as np

from ...types import Array, Indices

__all__ = ["Cloud"]


class Cloud:
    """Points u (N, n), in units of the variables' sizes, and values (N, 1 + k) of objective and constraints.

    Points at which a function failed are remembered apart, so that they are not asked for again.
    """

    def __init__(self, n: int, functions: int) -> None:
        self._u, self._F = np.empty((64, n)), np.empty((64, functions))
        self.size = 0
        self._failed: set[bytes] = set()

    @property
    def u(self) -> Array:
        return self._u[: self.size]

    @property
    def values(self) -> Array:
        return self._F[: self.size]

    def add(self, u: Array, F: Array) -> bool:
        """Take in a point; False where a value is not finite."""
        if not np.isfinite(F).all():
            self._failed.add(u.tobytes())
            return False
        if self.size == len(self._u):
            self._u, self._F = np.vstack([self._u, self._u]), np.vstack([self._F, self._F])
        self._u[self.size], self._F[self.size] = u, F
        self.size += 1
        return True

    def failed(self, u: Array) -> bool:
        """Whether a function failed at u (n,)."""
        return u.tobytes() in self._failed

    def nearest(self, centre: Array, count: int, reach: float) -> tuple[Indices, Array]:
        """The nearest points to ``centre`` (n,) and their distances: ``count``, and all within ``reach``."""
        distance = np.sqrt(((self.u - centre) ** 2).sum(axis=1))
        order = np.argsort(distance, kind="stable")[: max(count, int((distance <= reach).sum()))]
        return order, distance[order]
