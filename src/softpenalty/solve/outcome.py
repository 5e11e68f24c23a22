"""What a method hands over: a point with its multipliers, and why it stopped there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..types import Array
from .status import Status
from .tolerances import Tolerances

__all__ = ["Outcome", "Solution"]


@dataclass(slots=True)
class Solution:
    """A point in all variables with its multipliers, in the rows' canonical sign.

    ``x`` (n,), ``f``, ``values`` (k,), ``g`` (n,), ``J`` (k, n), ``y`` (m,), ``z`` (n,).
    """

    x: Array
    f: float
    values: Array
    g: Array
    J: Any
    y: Array
    z: Array


@dataclass(slots=True)
class Outcome:
    """How a solve ended.

    Attributes
    ----------
    solution : the point to return
    status : why the method stopped; the result does not take it at its word
    tolerances : what success requires
    stationarity : measures the residual (n,) of the gradient as the method does
    iterations : made in all
    conflict : labels of what cannot hold together, where infeasible
    relaxation : by how much the target of one of those must give way, it alone
    noise : (1 + k,) standard deviation of the noise of objective and values, where there is any
    uncertainty : standard deviations of x (n,), of the objective and of the multipliers (m,), likewise
    """

    solution: Solution
    status: Status
    tolerances: Tolerances
    stationarity: Callable[[Array], float]
    iterations: int
    conflict: Sequence[str] = ()
    relaxation: Mapping[str, float] = field(default_factory=dict)
    noise: Array | None = None
    uncertainty: tuple[Array, float, Array] | None = None
