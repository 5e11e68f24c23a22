"""The judge: one function measures any solver's point, and the verdicts follow from its numbers.

Points are always measured on the problem as the collection states it, also when the solver saw a scaled
variant of it.

violation
    The largest violation of a row or bound, relative to max(1, \\|bound\\|). S2MPJ folds the constant of a
    nonlinear row into its function, so its bound is 0; linear rows and bounds carry theirs.
best objective, f*
    The lowest objective among the *most feasible* points that all solvers, in all versions on record, found
    for the plain problem (scaled variants do not count, or the plain verdicts would depend on them): those
    with a violation of at most 1e-10, or if there are none 1e-9, 1e-8, 1e-6. Otherwise a sloppy point with
    an objective below the true minimum would make the accurate ones fail. Where even 1e-10 is sloppy,
    because the violation grows with the cube of the distance, the known minimum is used (`KNOWN`).
solved at tol
    violation <= min(1e-6, tol) and objective <= f* + tol max(1, \\|f*\\|).
stationarity
    The smallest \\|gradient + J^T multipliers\\| over multipliers of the right sign on the rows and bounds
    that are active (within `NEAR` of their bound, measured in x), relative to max(1, \\|gradient\\|_max).
false success
    The solver claims success, but the violation exceeds 1e-6, or the point is neither solved at 1e-5 nor
    stationary within 1e-3. Another local minimum is therefore not a false success. (With 1e-2 or 1e-4 in
    place of 1e-3 the counts of the peers move by a few; their order does not.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from .problems import Problem

TOLERANCES = (1e-5, 1e-6, 1e-8)
FEASIBLE = 1e-6
FEASIBILITY_CLASSES = (1e-10, 1e-9, 1e-8, 1e-6)
KNOWN = {"HS13": 1.0}  # no constraint qualification: y <= (1 - x)^3 is broken by 1e-11 at f = f* - 4e-4
STATIONARY = 1e-3
NEAR = 1e-4


@dataclass(frozen=True)
class Measure:
    """What the judge sees at a point; infinite where something is undefined."""

    objective: float
    violation: float
    stationarity: float


def measure(problem: Problem, x: np.ndarray) -> Measure:
    """Measure a point on a problem, which must be the plain one."""
    x = np.asarray(x, dtype=float)
    if x.shape != (problem.n,) or not np.all(np.isfinite(x)):
        return Measure(np.inf, np.inf, np.inf)
    numbers = (problem.fun(x), _violation(problem, x), _stationarity(problem, x))
    return Measure(*(float(number) if np.isfinite(number) else np.inf for number in numbers))


def _violation(problem: Problem, x: np.ndarray) -> float:
    rows = problem.con(x)
    scale = np.ones(problem.m)
    scale[: problem.m_linear] = np.maximum(1.0, np.abs(problem.b))
    broken = np.where(problem.equality, np.abs(rows), rows) / scale
    below = (problem.xl - x) / np.where(np.isfinite(problem.xl), np.maximum(1.0, np.abs(problem.xl)), 1.0)
    above = (x - problem.xu) / np.where(np.isfinite(problem.xu), np.maximum(1.0, np.abs(problem.xu)), 1.0)
    return float(np.max(np.concatenate([[0.0], broken, below, above])))


def _stationarity(problem: Problem, x: np.ndarray) -> float:
    gradient, rows, J = problem.grad(x), problem.con(x), problem.jac(x)
    near = NEAR * max(1.0, float(np.max(np.abs(x))))
    active = problem.equality | (rows >= -near * np.linalg.norm(J, axis=1))
    eye = np.eye(problem.n)
    directions = np.vstack(
        [J[active], -J[problem.equality], -eye[x - problem.xl <= near], eye[problem.xu - x <= near]]
    )
    if not (np.all(np.isfinite(directions)) and np.all(np.isfinite(gradient))):
        return np.inf
    norms = np.linalg.norm(directions, axis=1)
    directions = directions[norms > 0] / norms[norms > 0, None]
    if len(directions) == 0:
        residual = np.linalg.norm(gradient)
    else:
        try:
            residual = scipy.optimize.nnls(directions.T, -gradient)[1]
        except RuntimeError:  # its iteration limit
            fit = scipy.optimize.lsq_linear(directions.T, -gradient, bounds=(0, np.inf))
            residual = np.sqrt(2 * fit.cost)
    return float(residual / max(1.0, np.max(np.abs(gradient))))


def best_objective(name: str, measures: Iterable[Measure]) -> float:
    """f* of a problem from all points found for it; infinite when none is feasible."""
    if name in KNOWN:
        return KNOWN[name]
    measures = list(measures)
    for limit in FEASIBILITY_CLASSES:
        objectives = [m.objective for m in measures if m.violation <= limit and np.isfinite(m.objective)]
        if objectives:
            return min(objectives)
    return np.inf


def solved(point: Measure, best: float, tol: float) -> bool:
    """Whether a point solves its problem at a tolerance."""
    if not (np.isfinite(best) and np.isfinite(point.objective)):
        return False
    return point.violation <= min(FEASIBLE, tol) and point.objective <= best + tol * max(1.0, abs(best))


def false_success(claimed: bool, point: Measure, best: float) -> bool:
    """Whether a claim of success is refuted by the point."""
    if not claimed:
        return False
    good = solved(point, best, TOLERANCES[0]) or point.stationarity <= STATIONARY
    return point.violation > FEASIBLE or not good


def failure(point: Measure, best: float) -> str:
    """Why a point does not solve its problem at the widest tolerance, in a few words."""
    if not np.isfinite(point.objective):
        return "undefined point"
    if point.violation > FEASIBLE:
        return f"violation {power(point.violation)}"
    gap = (point.objective - best) / max(1.0, abs(best))
    kind = "other stationary point" if point.stationarity <= STATIONARY else "not stationary"
    return f"{kind}, f above best by {power(gap)}"


def power(value: float) -> str:
    """A number by its first digit: 1e-5."""
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
