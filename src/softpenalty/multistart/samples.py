"""Samples of the box, and the merit that says from which of them to start."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from ..solve.result import Result
from ..types import Array
from .work import Answer, merits

__all__ = ["Samples"]

WORTH = 2.0  # times the largest multiplier seen is what a unit of violation costs in the merit
UNKNOWN_WORTH = 0.1  # of the objective's middle range, for the middle violation of rows never active


class Samples:
    """Scrambled Sobol points of the unit cube, those evaluated with what the functions returned there.

    Parameters
    ----------
    k : number of free variables
    seed : of the scrambling
    """

    def __init__(self, k: int, seed: int) -> None:
        self.seed = seed
        self.drawn = 0  #: points taken from the sequence
        self.units, self.objectives = np.zeros((0, k)), np.zeros(0)
        self.violations: Array = np.zeros((0, 0))
        self.used: set[int] = set()  #: those that were started from, or are about to be
        self.multipliers: Array = np.zeros(0)  #: (m,) largest size of each row's seen
        self._sequence = qmc.Sobol(k, scramble=True, seed=seed)

    def __len__(self) -> int:
        return len(self.objectives)

    def draw(self, size: int) -> Array:
        """The next points of the sequence, (size, k)."""
        self.drawn += size
        return np.asarray(self._sequence.random(size)) if size else self.units[:0]

    def skip_to(self, drawn: int) -> None:
        """Leave out points until so many are taken."""
        self._sequence.fast_forward(drawn - self.drawn)
        self.drawn = drawn

    def keep(self, answer: Answer) -> None:
        """Take in the candidates of an answer where no function failed, and which one was started from."""
        if answer.chosen < 0:
            self.used.add(answer.rival_index)
        else:
            self.used.discard(answer.rival_index)
        finite = np.isfinite(answer.objectives) & np.isfinite(answer.violations).all(axis=1)
        if not finite.any():
            return
        if answer.chosen >= 0 and finite[answer.chosen]:
            self.used.add(len(self) + int(finite[: answer.chosen].sum()))
        violations = answer.violations[finite]
        self.violations = np.vstack([self.violations, violations]) if len(self) else violations
        self.units = np.vstack([self.units, answer.points[finite]])
        self.objectives = np.append(self.objectives, answer.objectives[finite])

    def learn(self, result: Result) -> None:
        """Take in the multipliers of a minimum."""
        sizes = np.nan_to_num(np.abs(result.multiplier_vector))
        self.multipliers = np.maximum(self.multipliers, sizes) if self.multipliers.size else sizes

    @property
    def spread(self) -> float:
        """The objective's middle range."""
        low, high = np.quantile(self.objectives, [0.25, 0.75]) if len(self) else (0.0, 0.0)
        return float(high - low)

    def weights(self) -> Array:
        """What a unit of each row's violation costs in the merit, (m,); (0,) while nothing is known."""
        weights = np.ones(max(self.multipliers.size, self.violations.shape[1]))
        for i, violations in enumerate(self.violations.T):
            positive = violations[violations > 0.0]
            if positive.size:
                weights[i] = UNKNOWN_WORTH * self.spread / float(np.median(positive)) or 1.0
        known = np.flatnonzero(self.multipliers > 0.0)
        weights[known] = WORTH * self.multipliers[known]
        return weights

    def least(self) -> tuple[int, float]:
        """Which unused sample has the least merit, and that; (−1, inf) if there is none."""
        if not len(self):
            return -1, np.inf
        merit = merits(self.objectives, self.violations, self.weights())
        merit[list(self.used)] = np.inf
        index = int(np.argmin(merit))
        return (index, float(merit[index])) if merit[index] < np.inf else (-1, np.inf)
