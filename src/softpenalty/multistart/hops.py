"""Hops: candidates for a start around a minimum; which kind is tried follows what each has gained.

Coordinate hops (redraw, exchange, permute) gain most where the objective is nearly separable; steps in a box
do not care how the coordinates lie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..types import Array, Mask

__all__ = ["HOPS", "KINDS", "Mix"]

AWAY = 0.1  # a coordinate that is redrawn goes at least this far
STEPS = (-1.5, -1.1, -0.7, -0.3)  # powers of ten that bound the max-norms of short, middle and long steps
NEIGHBOURS = 3  # nearest minima, one of which makes a difference with a minimum
TRIALS = 5.0  # of each kind that count as made beforehand, with one success

Hop = Callable[[np.random.Generator, Array, Array, int], Array]


def _chosen(rng: np.random.Generator, n: int, size: int, least: int = 1) -> Mask:
    """The same number of coordinates, usually few, in each row of a mask (size, n)."""
    count = min(max(least, rng.geometric(min(1.0, 2.0 / n))), max(least, n // 2), n)
    return np.argsort(rng.random((size, n)), axis=1) < count


def redraw(rng: np.random.Generator, origin: Array, others: Array, size: int) -> Array:
    """A few coordinates anywhere else."""
    low, high = np.maximum(origin - AWAY, 0.0), np.minimum(origin + AWAY, 1.0)
    drawn = rng.random((size, origin.size)) * (1.0 - (high - low))
    drawn = np.where(drawn < low, drawn, drawn + (high - low))
    return np.where(_chosen(rng, origin.size, size), drawn, origin)


def exchange(rng: np.random.Generator, origin: Array, others: Array, size: int) -> Array:
    """A few coordinates of another minimum."""
    if not len(others):
        return redraw(rng, origin, others, size)
    donors = others[rng.integers(len(others), size=size)]
    return np.where(_chosen(rng, origin.size, size), donors, origin)


def permute(rng: np.random.Generator, origin: Array, others: Array, size: int) -> Array:
    """A few coordinates exchanged among themselves."""
    candidates = np.tile(origin, (size, 1))
    for candidate, mask in zip(candidates, _chosen(rng, origin.size, size, least=2), strict=True):
        candidate[mask] = rng.permutation(candidate[mask])
    return candidates


def shift(rng: np.random.Generator, origin: Array, others: Array, size: int) -> Array:
    """By the difference of two minima that are neighbours: many lie in a pattern, however it is turned."""
    if len(others) < 2:
        return redraw(rng, origin, others, size)
    first = rng.integers(len(others), size=size)
    distances = np.linalg.norm(others[first][:, None] - others, axis=2)
    near = np.argsort(distances, axis=1)[:, 1 : 1 + NEIGHBOURS]
    second = rng.permuted(near, axis=1)[:, 0]
    return _reflected(origin + others[first] - others[second])


def _step(
    powers: tuple[float, float], rng: np.random.Generator, origin: Array, others: Array, size: int
) -> Array:
    """A step of one length (max-norm) in any direction, reflected at the bounds."""
    direction = rng.uniform(-1.0, 1.0, (size, origin.size))
    direction /= np.abs(direction).max(axis=1, keepdims=True)
    return _reflected(origin + 10.0 ** rng.uniform(*powers) * direction)


def _reflected(points: Array) -> Array:
    """Points less than 1 outside the unit cube, reflected at its faces."""
    return np.asarray(1.0 - np.abs(1.0 - np.abs(points)))


#: name → candidates (size, k) around `origin` (k,), given the other minima (M, k)
HOPS: dict[str, Hop] = {
    "redraw": redraw,
    "exchange": exchange,
    "permute": permute,
    "shift": shift,
    "short": partial(_step, STEPS[0:2]),
    "middle": partial(_step, STEPS[1:3]),
    "long": partial(_step, STEPS[2:4]),
}
KINDS = ("sample", *HOPS)


@dataclass
class Mix:
    """What each kind of start has gained and cost so far, and which to try next."""

    trials: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    gains: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))
    costs: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))

    def draw(self, rng: np.random.Generator, cost: float) -> str:
        """A kind, by Thompson's rule: as often as it gains most an evaluation, as far as is known.

        ``cost`` is what a start is expected to cost beforehand.
        """

        def rate(kind: str) -> float:
            gain, trials = self.gains[kind], self.trials[kind]
            drawn = rng.beta(1.0 + gain, TRIALS - 1.0 + trials - gain)
            return drawn * (1 + trials) / (cost + self.costs[kind])

        return max(KINDS, key=rate)

    def see(self, kind: str, gain: float, cost: float) -> None:
        """Take in what a start has gained, between 0 and 1, and what it cost."""
        self.trials[kind] += 1
        self.gains[kind] += gain
        self.costs[kind] += cost
