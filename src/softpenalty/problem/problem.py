"""A problem, read once: the user's functions, their rows, the bounds, and a start where all is defined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..types import Array
from .canonical import Rows
from .evaluation import Evaluation

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """What every method solves.

    Attributes
    ----------
    evaluation : the user's functions, each point evaluated once
    rows : (m,) comparisons of their values with targets
    lower, upper : (n,) bounds, infinite where there are none
    start : (n,) inside the bounds, with finite values and derivatives
    variables : (n,) names
    """

    evaluation: Evaluation
    rows: Rows
    lower: Array
    upper: Array
    start: Array
    variables: Sequence[str]

    @property
    def names(self) -> list[str]:
        """Name of each constraint."""
        return [block.name for block in self.evaluation.blocks]

    @property
    def sizes(self) -> list[int]:
        """Number of values of each constraint."""
        return self.evaluation.sizes or []
