"""How much is left to find, from what uniform starts have found.

Boender and Rinnooy Kan (1987): where N uniform starts have led to w different results, all distributions of
basins being equally likely beforehand, w(N − 1)/(N − w − 2) results are expected in all, and the basins of
those found cover (N − w − 1)(N + w)/(N(N − 1)) of the box. What counts is the level of the objective, not the
point: symmetric problems have each minimum many times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Estimate"]

MARGIN = 0.5  # levels expected beyond those found, at which the search is called complete


@dataclass(frozen=True)
class Estimate:
    """What is known of completeness; an estimate, never a proof.

    Attributes
    ----------
    found : levels of the objective among the minima found, by whatever start
    starts : uniform starts that ended in a minimum

    Examples
    --------
    >>> estimate = Estimate(found=1, starts=8)
    >>> estimate.expected, round(estimate.covered, 3), estimate.complete
    (1.4, 0.964, True)
    """

    found: int
    starts: int

    @property
    def expected(self) -> float:
        """Levels expected in all, infinite where there are too few starts to tell."""
        spare = self.starts - self.found - 2
        return self.found * (self.starts - 1) / spare if self.found and spare > 0 else math.inf

    @property
    def covered(self) -> float:
        """Share of the box from which `minimize` is expected to end at a level found."""
        N, w = self.starts, self.found
        return (N - w - 1) * (N + w) / (N * (N - 1)) if w + 1 < N and w else 0.0

    @property
    def complete(self) -> bool:
        """Whether less than half a level is expected to be missing."""
        return self.expected <= self.found + MARGIN

    @property
    def missing_starts(self) -> int:
        """Uniform starts that would make it complete if they found nothing new."""
        w = self.found
        return max(0, math.ceil(((w + MARGIN) * (w + 2) - w) / MARGIN) - self.starts)
