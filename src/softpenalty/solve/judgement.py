"""What a point is, measured anew from what the user's functions returned there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem.problem import Problem
from ..types import Array
from .outcome import Outcome
from .status import SUCCESSES, Status, Verdict
from .tolerances import ATTAINABLE_SHARE

__all__ = ["Judgement", "judge"]

ROUNDING = 1e-14  # some units of rounding


@dataclass(frozen=True, slots=True)
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
    # Rounding may leave a multiplier at a bound that does not exist: it counts as a residual instead.
    z = np.clip(
        solution.z, np.where(np.isfinite(lower), -np.inf, 0.0), np.where(np.isfinite(upper), np.inf, 0.0)
    )
    errors = rows.errors(solution.values)
    violations = rows.violations(errors)
    multipliers = solution.y * rows.sign
    by_value = rows.pull_back(multipliers, solution.values.size)
    residual = g + solution.J.T @ by_value + z
    gaps = np.where(z > 0.0, upper - x, np.where(z < 0.0, x - lower, 0.0))
    slack = np.concatenate([np.abs(multipliers * errors), np.abs(z * gaps)])
    x_size = max(1.0, float(np.abs(x).max(initial=0.0)))
    worth = max(abs(solution.f), float(np.abs(g).max(initial=0.0)) * x_size) or 1.0
    outside = float(np.maximum(lower - x, x - upper).max(initial=0.0))
    known = bool(np.isfinite(residual).all())
    kkt = {
        "stationarity": outcome.stationarity(residual) if known else np.nan,
        "feasibility": max(float(violations.max(initial=0.0)), outside),
        "complementarity": float(slack.max(initial=0.0)) / worth,
    }
    # A row cannot be met better than rounding in x and in its own value allows.
    rounding = ROUNDING * np.asarray(abs(solution.J) @ np.maximum(1.0, np.abs(x))).ravel()
    allowed = tolerances.feasibility * np.maximum(1.0, np.abs(rows.target)) + rounding[rows.source]
    feasible = bool((violations <= allowed).all()) and outside <= tolerances.feasibility
    verdict = Verdict.FEASIBLE if feasible else Verdict.VIOLATED
    if feasible and kkt["complementarity"] <= tolerances.complementarity:
        if kkt["stationarity"] <= tolerances.stationarity:
            verdict = Verdict.OPTIMAL
        elif status is Status.ATTAINED and kkt["stationarity"] <= ATTAINABLE_SHARE * tolerances.stationarity:
            verdict = Verdict.ATTAINED
    return Judgement(_concluded(status, verdict), verdict, kkt, errors, multipliers, by_value, z)


def _concluded(status: Status, verdict: Verdict) -> Status:
    """The reason of the stop in the light of what the point is.

    A point that meets the tolerances is a success even if the search beyond it failed, and only then.
    """
    if verdict is Verdict.ATTAINED:
        return Status.ATTAINED
    if verdict is Verdict.OPTIMAL and status in (*SUCCESSES, Status.NO_PROGRESS, Status.ERROR_LEFT):
        return Status.CONVERGED
    return Status.NO_PROGRESS if status in SUCCESSES else status
