"""A problem, read once: the user's functions, their rows, the bounds, and a start where all is defined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..types import Array
from .canonical import Rows
from .evaluation import Evaluation

__all__ = ["Problem", "variable_names"]


class Problem(NamedTuple):
    """What every method solves.

    Attributes
    ----------
    evaluation : the user's functions, each point evaluated once
    rows : (m,) comparisons of their values with targets
    lower, upper : (n,) bounds, infinite where there are none
    start : (n,) inside the bounds, with finite values and derivatives
    given_names : (n,) of the variables, where they have any
    """

    evaluation: Evaluation
    rows: Rows
    lower: Array
    upper: Array
    start: Array
    given_names: Sequence[str] | None = None

    @property
    def variables(self) -> list[str]:
        """Name of each variable."""
        return variable_names(self.given_names, self.start.size)

    @property
    def names(self) -> list[str]:
        """Name of each constraint."""
        return [block.name for block in self.evaluation.blocks]

    @property
    def sizes(self) -> list[int]:
        """Number of values of each constraint."""
        return self.evaluation.sizes or []


def variable_names(given: Sequence[str] | None, n: int) -> list[str]:
    """Names of n variables: those given, or x[0], x[1], and so on."""
    return [f"x[{i}]" for i in range(n)] if given is None else list(given)
