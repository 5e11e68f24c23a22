"""The minima found: which are the same, how often each was found, and at how many levels they lie."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..solve.result import Result
from ..types import Array
from .work import SAME_LEVEL

__all__ = ["FEW", "Minima", "Minimum"]

SAME_POINT = 1e-3  # distance in the unit cube below which minima at one level are the same
FEW = 5  # minima, or levels, that count as the best few
FLOOR = 1e-7  # and levels are not told apart below this share of how far the objective varies


@dataclass
class Minimum:
    """A distinct minimum.

    Attributes
    ----------
    result : the `Result` of the solve that found it, or of the best one that did
    unit : (k,) where it lies between the bounds of the free variables
    count : solves that ended in it or were stopped on their way into it
    nfev : evaluations after which it was found
    """

    result: Result
    unit: Array
    count: int = 1
    nfev: int = 0

    @property
    def x(self) -> Array:
        """Where it is, (n,)."""
        x: Array = self.result.x
        return x

    @property
    def fun(self) -> float:
        """Its objective."""
        return float(self.result.fun)

    @property
    def success(self) -> bool:
        """Whether it passed `minimize`'s own test."""
        return bool(self.result.success)


@dataclass
class Minima:
    """All minima in the order in which they were found; their places do not change.

    Attributes
    ----------
    spread : how far the objective varies, from the samples
    """

    found: list[Minimum] = field(default_factory=list)
    spread: float = 0.0

    def __len__(self) -> int:
        return len(self.found)

    def add(self, unit: Array, result: Result, nfev: int) -> None:
        """Take in the end of a solve."""
        for minimum in self.found:
            near = float(np.linalg.norm(minimum.unit - unit)) < SAME_POINT
            if near and abs(minimum.fun - result.fun) <= self.resolution(minimum.fun):
                minimum.count += 1
                if (result.success, -result.fun) > (minimum.success, -minimum.fun):
                    minimum.result, minimum.unit = result, unit
                return
        self.found.append(Minimum(result, unit, 1, nfev))

    def best_first(self) -> list[Minimum]:
        """The minima by their objective."""
        return sorted(self.found, key=lambda minimum: minimum.fun)

    def levels(self) -> list[float]:
        """Objectives that differ, ascending."""
        levels: list[float] = []
        for minimum in self.best_first():
            if not levels or minimum.fun - levels[-1] > self.resolution(levels[-1]):
                levels.append(minimum.fun)
        return levels

    def gain(self, fun: float) -> float:
        """What an objective adds to the levels known: 1 as the new best, less as second to fifth, else 0."""
        levels = self.levels()
        if any(abs(fun - level) <= self.resolution(level) for level in levels):
            return 0.0
        rank = 1 + sum(level < fun for level in levels)
        return max(0.0, 1.0 - (rank - 1) / FEW)

    def resolution(self, fun: float) -> float:
        """Difference of objectives below which they are at one level."""
        return SAME_LEVEL * abs(fun) + FLOOR * self.spread
