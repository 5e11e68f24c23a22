"""Whether our table and the published one can come from the same experiment, with a stated error probability.

Of the trials behind one of our medians a share lies below the published median: ½, but for chance. The
published median is that of `published.EFFECTIVE_SAMPLES` draws and the share that of our own n, so whatever
the errors or iterations of a cell are distributed like, the share scatters around ½ with a variance of
(1/n + 1/`EFFECTIVE_SAMPLES`)/4. The score of a figure is its distance from ½ in these standard deviations.

Figures of the same problems go up and down together. How much, their signs around the median tell: the
scores of two figures have the correlation of these signs. Two statistics judge the whole table: the largest
score (a figure that is wrong) and the sum of all squares (many that are a little wrong). Each may fail half
of `LEVEL` of all faithful studies, so together they fail at most `LEVEL` of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...types import Array
from ..design import published

LEVEL = 0.01  # probability that a faithful study fails
FAITHFUL_STUDIES = 20_000  # simulated; 100 of them lie beyond each limit
_SEED = 128  # the same verdict on every call


@dataclass(frozen=True)
class Agreement:
    """Largest score and sum of squares of `figures` scores, each with the share of faithful studies above it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = rng.lognormal(size=(3, 500))
    >>> agreement([(score(values, np.ones(3)), sign_correlation(values))]).holds
    True
    >>> agreement([(score(values, np.full(3, 1.5)), sign_correlation(values))]).holds
    False
    """

    figures: int
    largest: float
    largest_chance: float
    total: float
    total_chance: float

    @property
    def largest_holds(self) -> bool:
        """Whether no figure is farther off than chance explains."""
        return self.largest_chance >= LEVEL / 2

    @property
    def total_holds(self) -> bool:
        """Whether all figures together are no farther off than chance explains."""
        return self.total_chance >= LEVEL / 2

    @property
    def holds(self) -> bool:
        """Whether chance explains how far the two tables lie apart."""
        return self.largest_holds and self.total_holds


def score(values: NDArray[Any], published_median: float | Array) -> Array:
    """Scores of figures with trials `values` (..., n): positive where the published median is the larger.

    A published median that ties with trials may stand anywhere among them; the place nearest to the middle
    counts, so a count of iterations off by chance is not taken for more than that.
    """
    limit = np.asarray(published_median, dtype=np.float64)[..., None]
    below, at_most = np.mean(values < limit, axis=-1), np.mean(values <= limit, axis=-1)
    deviation = np.sqrt(1.0 / values.shape[-1] + 1.0 / published.EFFECTIVE_SAMPLES) / 2.0
    scores: Array = (np.clip(0.5, below, at_most) - 0.5) / deviation
    return scores


def sign_correlation(values: NDArray[Any]) -> Array:
    """Correlations (figures, figures) of the signs of `values` (figures, problems) around their medians."""
    signs = np.sign(values - np.median(values, axis=-1, keepdims=True))
    correlation: Array = signs @ signs.T
    size = np.sqrt(np.diag(correlation))
    size[size == 0.0] = 1.0  # a figure without any scatter
    correlation /= np.outer(size, size)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def agreement(groups: Sequence[tuple[Array, Array]]) -> Agreement:
    """Judge scores (figures,) with their correlations (figures, figures), a pair for each set of problems."""
    generator = np.random.default_rng(_SEED)
    largest, total = np.zeros(FAITHFUL_STUDIES), np.zeros(FAITHFUL_STUDIES)
    for scores, correlation in groups:
        strength, direction = np.linalg.eigh(correlation)
        root = direction * np.sqrt(np.maximum(strength, 0.0))
        drawn = generator.normal(size=(FAITHFUL_STUDIES, scores.size)) @ root.T
        largest = np.maximum(largest, np.abs(drawn).max(axis=1))
        total += np.sum(drawn**2, axis=1)
    found = np.concatenate([scores for scores, _ in groups])
    farthest, squares = float(np.abs(found).max()), float(found @ found)
    return Agreement(
        found.size,
        farthest,
        float(np.mean(largest >= farthest)),
        squares,
        float(np.mean(total >= squares)),
    )
