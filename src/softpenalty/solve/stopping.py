"""Why a solve stopped, what to try next, and the tests that decide it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from .point import Array

__all__ = ["NOISE_FACTOR", "SUCCESSES", "Limits", "Measure", "Sizes", "Status", "Tolerances"]


class Status(Enum):
    """Reason of the stop: a number for `result.status` and what to know or to try next."""

    CONVERGED = (0, "Converged: stationary and feasible within tolerance.")
    ITERATION_LIMIT = (
        1,
        "Iteration limit reached: continue from `result.x` or raise options['maxiter'].",
    )
    EVALUATION_LIMIT = (
        2,
        "Evaluation limit reached: continue from `result.x` or raise options['maxfev'].",
    )
    INFEASIBLE = (
        3,
        "Infeasible: no nearby point violates the constraints less. Relax one of those that conflict "
        "(see `result.conflict`) or start elsewhere.",
    )
    UNBOUNDED = (
        4,
        "Unbounded: the objective falls without limit at feasible points. Add the bound or constraint that "
        "is missing.",
    )
    NO_PROGRESS = (
        5,
        "Line search failed: no step improves the point any further, yet it is not stationary within "
        "tolerance. Check the derivatives, look for kinks or noise, or accept a larger `tol`.",
    )
    CALLBACK = (6, "Stopped by the callback.")
    INVALID_START = (
        7,
        "Invalid start: the functions or their derivatives are not finite at `x0` nor near it. Start where "
        "they are defined, or add bounds that keep x there.",
    )
    ATTAINED = (
        10,
        "Converged to the attainable accuracy: stationary as far as rounding in the functions shows.",
    )
    TIME_LIMIT = (8, "Time limit reached: continue from `result.x` or raise options['max_time'].")
    ERROR_LEFT = (
        9,
        "The minimum of the penalty was found, but it leaves an error beyond tolerance, as penalties do. "
        "Use method='multiplier' or 'sqp', lower options['alpha'], or say in options['constraint_tol'] which "
        "error you accept.",
    )
    WEAK_PENALTY = (
        11,
        "The penalty is too weak: a constraint is violated although its multiplier has reached sigma. Raise "
        "options['sigma'], or leave it out and it is found.",
    )

    @property
    def number(self) -> int:
        """What `result.status` holds."""
        return self.value[0]

    @property
    def message(self) -> str:
        """What `result.message` starts with."""
        return self.value[1]


SEEN_SHARE = 1e-3  # of the steepest gradient seen, that counts as each variable's gradient at least
OWN_SHARE = 100.0  # tolerance of a residual times the variable's own reach, in units of the usual tolerance
SUCCESSES = (Status.CONVERGED, Status.ATTAINED)
NOISE_FACTOR = 7.0  # a residual below so many times the error of differences cannot be told from zero
NOISE_LIMIT = 1e-3  # ... but where that exceeds this share of the largest gradient seen, nothing is known
ATTAINABLE = 10.0  # a predicted fall below so many roundings of the merit cannot be seen
ATTAINABLE_SHARE = 100.0  # stationarity that may be left then, in units of the tolerance


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
        default = cls()
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


ROUNDED_PREDICTION = 10.0  # a negative predicted fall this many tolerances deep is still rounding


@dataclass(slots=True)
class Measure:
    """What the tests look at in one iteration.

    Attributes
    ----------
    violation : largest violation relative to max(1, |target|)
    distance : largest violation in units of x, relative to max(1, |x|)
    stationarity : relative residual
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

    def feasible(self, tolerances: Tolerances) -> bool:
        """Whether the rows are met."""
        return self.violation <= tolerances.feasibility and self.distance <= tolerances.distance

    def converged(self, tolerances: Tolerances) -> bool:
        """Whether the point is feasible and stationary and nothing is left to gain."""
        if not self.feasible(tolerances) or self.stationarity > tolerances.stationarity:
            return False
        if self.noise > NOISE_LIMIT:
            return False
        return self.nothing_left(tolerances) or self.step <= tolerances.step

    def attained(self, tolerances: Tolerances) -> bool:
        """Whether the point is feasible, nearly stationary, and rounding hides all that is left to gain."""
        if not self.feasible(tolerances) or self.noise > NOISE_LIMIT:
            return False
        visible = ATTAINABLE * self.rounding
        almost = self.stationarity <= ATTAINABLE_SHARE * tolerances.stationarity
        return almost and abs(self.predicted) <= visible and self.curved <= visible

    def nothing_left(self, tolerances: Tolerances) -> bool:
        """Whether no fall of the objective is in sight."""
        enough = tolerances.objective
        return -ROUNDED_PREDICTION * enough <= self.predicted <= enough and self.curved <= enough


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

    @classmethod
    def at(cls, g: Array, reach: Array) -> Sizes:
        """Sizes at the start."""
        steepest = np.abs(g)
        return cls(min(1.0, float(steepest.max(initial=0.0))), steepest, reach)

    def see(self, start: Array, x: Array, g: Array) -> None:
        """Take in another point."""
        size = np.abs(g)
        self.unit = max(self.unit, min(1.0, float(size.max(initial=0.0))))
        self.steepest = np.maximum(self.steepest, size)
        self.reach = np.maximum(self.reach, np.maximum(np.abs(x), np.abs(x - start)))

    def stationarity(self, residual: Array, g: Array, enough: float) -> float:
        """Largest entry of ``residual`` (n,), relative to the gradient and to what each variable moves.

        A residual below ``enough`` counts as zero within tolerance 1.
        """
        size = max(self.unit, float(np.abs(g).max(initial=0.0)), enough) or 1.0
        changes = np.maximum(np.abs(g), SEEN_SHARE * self.steepest) * self.reach
        worth = max(float(changes.max(initial=0.0)), enough * float(self.reach.max(initial=0.0))) or 1.0
        own = float((np.abs(residual) * self.reach).max(initial=0.0)) / worth
        return max(float(np.abs(residual).max(initial=0.0)) / size, own / OWN_SHARE)


@dataclass(slots=True)
class Limits:
    """What the user allows in iterations, evaluations and seconds."""

    iterations: int
    evaluations: float
    seconds: float
    evaluated: Callable[[], int]
    started: float = 0.0

    def __post_init__(self) -> None:
        self.started = time.perf_counter()

    @property
    def deadline(self) -> float:
        """Reading of the clock at which the time is up."""
        return self.started + self.seconds

    def reached(self, iterations: int) -> Status | None:
        """The status of the first limit that is reached, if any."""
        if iterations >= self.iterations:
            return Status.ITERATION_LIMIT
        if self.evaluated() >= self.evaluations:
            return Status.EVALUATION_LIMIT
        if time.perf_counter() >= self.deadline:
            return Status.TIME_LIMIT
        return None
