"""A problem with a known best value, and the one judge of points."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
State = Callable[[Array], tuple[float, Sequence[float], Sequence[float]]]

FEASIBLE = 1e-6  # violation allowed
CLOSE = 1e-4  # of the best value, relative to it unless it is 0
SOLUTIONS = Path(__file__).with_name("solutions.json")


@dataclass(frozen=True)
class SearchProblem:
    """min f(x) where g(x) ≤ 0, h(x) = 0 and x is between bounds.

    Attributes
    ----------
    name : of the problem
    state : x → (f, g, h)
    bounds : (n, 2)
    many : whether it is one of those with many minima
    published : best value in the literature, which for equalities may allow |h| ≤ 1e-4
    known : the best point, where it is not on file
    """

    name: str
    state: State
    bounds: Array
    published: float
    many: bool = False
    known: Array | None = None

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.bounds)

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """How many inequalities and equalities."""
        _, g, h = self.state(self.bounds.mean(axis=1))
        return len(g), len(h)

    @cached_property
    def solution(self) -> Array:
        """The best point known, with exact equalities."""
        if self.known is not None:
            return self.known
        return np.array(json.loads(SOLUTIONS.read_text(encoding="utf-8"))[self.name])

    @cached_property
    def best(self) -> float:
        """Its value."""
        return float(self.state(self.solution)[0])

    def measure(self, x: Array) -> tuple[float, float]:
        """Objective and largest violation, bounds included."""
        f, g, h = self.state(x)
        outside = np.maximum(self.bounds[:, 0] - x, x - self.bounds[:, 1])
        return float(f), float(np.max([*g, *np.abs(h), *outside], initial=0.0))

    def reached(self, f: float, violation: float) -> bool:
        """Whether a point with these is as good as the best one known, if one is known."""
        if np.isnan(self.published):
            return False
        return violation <= FEASIBLE and f <= self.best + CLOSE * (abs(self.best) or 1.0)


def box(low: float | Sequence[float], high: float | Sequence[float], n: int | None = None) -> Array:
    """Bounds (n, 2)."""
    pair = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
    return np.array(np.transpose(pair) if n is None else np.broadcast_to([low, high], (n, 2)), dtype=float)
