"""What a point is, measured anew from what the user's functions returned there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core import compiled
from ..problem.problem import Problem
from ..types import Array
from .norms import all_finite, largest
from .outcome import Outcome
from .status import SUCCESSES, Status, Verdict
from .tolerances import ATTAINABLE_SHARE

__all__ = ["ROWS_WITHIN", "Judgement", "judge"]

ROUNDING = 1e-14  # some units of rounding
ROWS_WITHIN = 2.0  # standard deviations of their own noise that rows may be off
MAY_BE_OPTIMAL = (
    *SUCCESSES,
    Status.NO_PROGRESS,
    Status.ERROR_LEFT,
)  # reasons of a stop that do not contradict it


@dataclass(slots=True)
class Judgement:
    """The verdict on an outcome.

    Attributes
    ----------
    status : the reason of the stop, or success where the point is one, and only there
    verdict : what the point is
    kkt : stationarity, feasibility and complementarity
    errors, multipliers : (m,) of the rows, with the user's signs
    by_value : (k,) multipliers summed over the rows of each value
    z : (n,) multipliers of the bounds
    """

    status: Status
    verdict: Verdict
    kkt: dict[str, float]
    errors: Array
    multipliers: Array
    by_value: Array
    z: Array


def judge(problem: Problem, outcome: Outcome) -> Judgement:
    """Measure the outcome's point with the user's own scaling."""
    solution, tolerances, status, rows = outcome.solution, outcome.tolerances, outcome.status, problem.rows
    x, g, lower, upper = solution.x, solution.g, problem.lower, problem.upper
    z, gap, outside = bound_multipliers(solution.z, x, lower, upper)
    errors, multipliers, by_value = rows.user_view(solution.values, solution.y)
    if hasattr(solution.J, "toarray"):
        residual = g + solution.J.T @ by_value + z
    else:
        residual = lagrangian_gradient(g, solution.J, by_value, z)
    of_rows = errors, rows.sign, rows.floor, rows.target, multipliers, tolerances.feasibility
    met, worst, slack = rows_judged(*of_rows, None)
    if not met:  # a row cannot be met better than rounding in x and in its own value allows
        rounding = ROUNDING * np.nan_to_num(np.asarray(abs(solution.J) @ np.maximum(1.0, np.abs(x))).ravel())
        allowed = rounding[rows.source]
        if outcome.noise is not None:
            allowed = allowed + ROWS_WITHIN * outcome.noise[1 + rows.source]
        met, _, _ = rows_judged(*of_rows, allowed)
    worth = max(abs(solution.f), largest(g) * max(1.0, largest(x))) or 1.0
    kkt = {
        "stationarity": outcome.stationarity(residual) if all_finite(residual) else np.nan,
        "feasibility": abs(max(worst, outside)),
        "complementarity": max(gap, slack) / worth,
    }
    feasible = met and outside <= tolerances.feasibility
    verdict = Verdict.FEASIBLE if feasible else Verdict.VIOLATED
    if feasible and status is Status.NOISE_FLOOR:
        verdict = Verdict.NOISE
    elif feasible and kkt["complementarity"] <= tolerances.complementarity:
        if kkt["stationarity"] <= tolerances.stationarity:
            verdict = Verdict.OPTIMAL
        elif status is Status.ATTAINED and kkt["stationarity"] <= ATTAINABLE_SHARE * tolerances.stationarity:
            verdict = Verdict.ATTAINED
    return Judgement(_concluded(status, verdict), verdict, kkt, errors, multipliers, by_value, z)


@compiled
def lagrangian_gradient(g: Array, J: Array, by_value: Array, z: Array) -> Array:
    """∇objective + Jᵀ·multipliers (n,), those of the bounds included."""
    residual: Array = g + by_value @ J + z
    return residual


@compiled
def bound_multipliers(z: Array, x: Array, lower: Array, upper: Array) -> tuple[Array, float, float]:
    """Multipliers (n,) of the bounds, the largest |multiplier·gap|, and how far x (n,) is outside.

    Rounding may leave a multiplier at a bound that does not exist: it counts as a residual instead.
    """
    z = np.clip(z, np.where(np.isfinite(lower), -np.inf, 0.0), np.where(np.isfinite(upper), np.inf, 0.0))
    gaps = np.where(z > 0.0, upper - x, np.where(z < 0.0, x - lower, 0.0))
    return z, largest(z * gaps), float(np.maximum(lower - x, x - upper).max(initial=0.0))


@compiled
def rows_judged(
    errors: Array,
    sign: Array,
    floor: Array,
    target: Array,
    multipliers: Array,
    tolerance: float,
    rounding: Array | None,
) -> tuple[bool, float, float]:
    """Whether all rows (m,) are met but for ``tolerance`` and ``rounding``; worst violation and slackness."""
    residuals = sign * errors
    violations = np.maximum(residuals, floor * residuals)
    allowed = tolerance * np.maximum(1.0, np.abs(target)) + (0.0 if rounding is None else rounding)
    met = bool((violations <= allowed).all())
    return met, float(violations.max(initial=0.0)), largest(multipliers * errors)


def _concluded(status: Status, verdict: Verdict) -> Status:
    """The reason of the stop in the light of what the point is.

    A point that meets the tolerances is a success even if the search beyond it failed, and only then.
    """
    if verdict is Verdict.OPTIMAL and status in MAY_BE_OPTIMAL:
        return Status.CONVERGED
    if verdict is Verdict.ATTAINED:
        return Status.ATTAINED
    if verdict is Verdict.NOISE:
        return Status.NOISE_FLOOR
    return Status.NO_PROGRESS if status in SUCCESSES else status
