"""When a point is good enough: tolerances, what is compared with them, and relative to what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core import compiled
from ..types import Array
from .norms import largest

__all__ = [
    "ATTAINABLE_SHARE", "NOISE_FACTOR", "OWN_SHARE", "SEEN_SHARE", "Measure", "Sizes", "Tolerances",
    "attained", "converged", "feasible", "first_sizes", "nothing_left", "relative_residual",
]  # fmt: skip

SEEN_SHARE = 1e-3  # of the steepest gradient seen, that counts as each variable's gradient at least
OWN_SHARE = 100.0  # tolerance of a residual times the variable's own reach, in units of the usual tolerance
NOISE_FACTOR = 7.0  # a residual below so many times the error of differences cannot be told from zero
NOISE_LIMIT = 1e-3  # ... but where that exceeds this share of the largest gradient seen, nothing is known
ATTAINABLE = 10.0  # a predicted fall below so many roundings of the merit cannot be seen
ATTAINABLE_SHARE = 100.0  # stationarity that may be left then, in units of the tolerance
ROUNDED_PREDICTION = 10.0  # a negative predicted fall this many tolerances deep is still rounding


@dataclass(frozen=True, slots=True)
class Tolerances:
    """When a point is good enough.

    Attributes
    ----------
    stationarity : |∇objective + Jᵀ·multipliers|∞, relative to the gradient
    feasibility : violation of a row, relative to max(1, |target|)
    distance : estimated distance in x to the nearest feasible point, relative to max(1, |x|)
    complementarity : |multiplier·error| in the final check, relative to the larger of |objective| and
        |gradient|·max(1, |x|)
    objective : fall of the objective still predicted, relative to the objective
    step : length of the step still proposed, relative to max(1, |x|); enough in place of `objective`
    """

    stationarity: float = 1e-6
    feasibility: float = 1e-8
    distance: float = 1e-7
    complementarity: float = 1e-5
    objective: float = 1e-10
    step: float = 1e-9

    @classmethod
    def at(cls, tol: float | None, constraint_tol: float | None) -> Tolerances:
        """The defaults, moved by the user's `tol` (stationarity) and `constraint_tol` (feasibility)."""
        default = DEFAULT
        if tol is None and constraint_tol is None:
            return default
        stationarity = default.stationarity if tol is None else float(tol)
        feasibility = default.feasibility if constraint_tol is None else float(constraint_tol)
        share, tighter = stationarity / default.stationarity, feasibility / default.feasibility
        return cls(
            stationarity,
            feasibility,
            default.distance * max(tighter, 1e-6),
            default.complementarity * max(share, 1e-3),
            # A residual ρ leaves a fall of about ρ², but f itself is known to about 1e-16 of its size.
            max(default.objective * min(share * share, share), 1e-15),
            default.step * min(share, 1.0),
        )


DEFAULT = Tolerances()


@compiled
@dataclass(slots=True)
class Measure:
    """What the tests look at in one iteration.

    Attributes
    ----------
    violation : largest violation relative to max(1, |target|)
    distance : largest violation in units of x, relative to max(1, |x|)
    stationarity : relative residual
    by_variable : the same, where each variable's own reach allows no more than the gradient does
    predicted, curved : predicted fall of the merit and d·Bd, relative to the objective
    step : |d| relative to max(1, |x|)
    noise : error of differences in the gradient of the Lagrangian, relative to the largest gradient seen
    rounding : of the merit, relative to the objective
    """

    violation: float
    distance: float
    stationarity: float
    predicted: float
    curved: float
    step: float
    noise: float = 0.0
    rounding: float = 0.0
    by_variable: float = 0.0


@compiled
def feasible(measure: Measure, tolerances: Tolerances) -> bool:
    """Whether the rows are met."""
    return measure.violation <= tolerances.feasibility and measure.distance <= tolerances.distance


@compiled
def converged(measure: Measure, tolerances: Tolerances) -> bool:
    """Whether the point is feasible and stationary and nothing is left to gain."""
    if measure.stationarity > tolerances.stationarity or not feasible(measure, tolerances):
        return False
    if measure.noise > NOISE_LIMIT:
        return False
    return nothing_left(measure, tolerances) or measure.step <= tolerances.step


@compiled
def attained(measure: Measure, tolerances: Tolerances) -> bool:
    """Whether the point is feasible, nearly stationary, and rounding hides all that is left to gain."""
    if not feasible(measure, tolerances) or measure.noise > NOISE_LIMIT:
        return False
    visible = ATTAINABLE * measure.rounding
    left = max(measure.stationarity, measure.by_variable)
    almost = left <= ATTAINABLE_SHARE * tolerances.stationarity
    return almost and abs(measure.predicted) <= visible and measure.curved <= visible


@compiled
def nothing_left(measure: Measure, tolerances: Tolerances) -> bool:
    """Whether no fall of the objective is in sight."""
    enough = tolerances.objective
    return -ROUNDED_PREDICTION * enough <= measure.predicted <= enough and measure.curved <= enough


@compiled
@dataclass(slots=True)
class Sizes:
    """What residuals are measured by, from all points seen: no variable is judged by another one's units.

    Attributes
    ----------
    unit : size of the gradient, at most 1, seen so far; a gradient is not called small below it
    steepest : largest |gradient| of each variable (n,) seen
    reach : how far from zero or from the start each variable (n,) has been, or is likely to go
    """

    unit: float
    steepest: Array
    reach: Array


def first_sizes(g: Array, reach: Array) -> Sizes:
    """Sizes at the start."""
    return Sizes(min(1.0, largest(g)), np.abs(g), reach)


@compiled
def relative_residual(
    residual: Array,
    g: Array,
    unit: float,
    steepest: Array,
    reach: Array,
    enough: float,
    seen_share: float,
    own_share: float,
) -> float:
    """The larger of |residual| relative to the gradient and its own size in what each variable moves.

    A residual below ``enough`` counts as zero within tolerance 1; ``own_share`` times as much is allowed in
    units of each variable's own reach.
    """
    size = max(unit, float(np.abs(g).max(initial=0.0)), enough) or 1.0
    changes = np.maximum(np.abs(g), seen_share * steepest) * reach
    worth = max(float(changes.max(initial=0.0)), enough * float(reach.max(initial=0.0))) or 1.0
    own = float((np.abs(residual) * reach).max(initial=0.0)) / worth
    return max(float(np.abs(residual).max(initial=0.0)) / size, own / own_share)
