"""Why a solve stopped, what to try next, and the tests that decide it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from .point import Array

__all__ = ["Limits", "Measure", "Status", "Tolerances", "gradient_noise"]


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


DIFFERENCE_NOISE = 0.1  # times the default `tol` it is 1e-7; a forward difference of f errs by 3e-8·|f|


@dataclass(frozen=True, slots=True)
class Tolerances:
    """When a point is good enough.

    Attributes
    ----------
    stationarity : |∇objective + Jᵀ·multipliers|∞, relative to the gradient
    feasibility : violation of a row, relative to max(1, |target|)
    distance : estimated distance in x to the nearest feasible point, relative to max(1, |x|)
    complementarity : |multiplier·error|, relative to max(1, |objective|), in the final check
    objective : fall of the objective still predicted, relative to the objective
    noise : share of |objective|/max(1, min|x|) that counts as the gradient's size at least: what forward
        differences cannot resolve is not asked for
    step : length of the step still proposed, relative to max(1, |x|); enough in place of `objective`
    """

    stationarity: float = 1e-6
    feasibility: float = 1e-8
    distance: float = 1e-7
    complementarity: float = 1e-5
    objective: float = 1e-10
    step: float = 1e-9
    noise: float = 0.0

    @classmethod
    def at(cls, tol: float | None, constraint_tol: float | None, differenced: bool = False) -> Tolerances:
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
            DIFFERENCE_NOISE if differenced else 0.0,
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
    """

    violation: float
    distance: float
    stationarity: float
    predicted: float
    curved: float
    step: float

    def feasible(self, tolerances: Tolerances) -> bool:
        """Whether the rows are met."""
        return self.violation <= tolerances.feasibility and self.distance <= tolerances.distance

    def converged(self, tolerances: Tolerances) -> bool:
        """Whether the point is feasible and stationary and nothing is left to gain."""
        if not self.feasible(tolerances) or self.stationarity > tolerances.stationarity:
            return False
        return self.nothing_left(tolerances) or self.step <= tolerances.step

    def nothing_left(self, tolerances: Tolerances) -> bool:
        """Whether no fall of the objective is in sight."""
        enough = tolerances.objective
        return -ROUNDED_PREDICTION * enough <= self.predicted <= enough and self.curved <= enough


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

    def reached(self, iterations: int) -> Status | None:
        """The status of the first limit that is reached, if any."""
        if iterations >= self.iterations:
            return Status.ITERATION_LIMIT
        if self.evaluated() >= self.evaluations:
            return Status.EVALUATION_LIMIT
        if time.perf_counter() - self.started >= self.seconds:
            return Status.TIME_LIMIT
        return None


def gradient_noise(tolerances: Tolerances, f: float, x: Array) -> float:
    """Size of the gradient below which differences of the objective show only rounding."""
    if not tolerances.noise:
        return 0.0
    return tolerances.noise * abs(f) / max(1.0, float(np.absolute(x).min(initial=np.inf)))
