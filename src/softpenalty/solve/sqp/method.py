"""The method "sqp": a problem as the dense algorithm sees it, and its answer in the user's variables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...problem.canonical import Rows
from ...problem.problem import Problem
from ...types import Array
from ..norms import largest
from ..options import Options
from ..outcome import Outcome, Solution
from ..status import Status
from ..tolerances import OWN_SHARE, SEEN_SHARE, Measure, Tolerances, first_sizes, relative_residual
from ..watch import Watch
from .doctor import Diagnosis
from .loop import run_attempts
from .model import Model
from .state import Ending, Iterate, record, row_of

__all__ = ["solve_sqp"]

DENSE_LIMIT = 4_000_000  # entries of a dense n × n or m × n matrix that the dense method accepts (32 MB)


def solve_sqp(
    problem: Problem, options: Options, watch: Watch, noisy: Callable[[], bool] | None = None
) -> Outcome:
    """Solve by penalty QPs; see `loop`.

    ``noisy`` : asked once where a step must be very short: are the functions too noisy for differences?
    """
    tolerances = Tolerances.at(options.tol, options.constraint_tol)
    rows = problem.rows
    model = Model(problem.evaluation, rows, problem.lower, problem.upper, problem.start)
    dense = model.m > 0 or problem.evaluation.has_hessian  # else the matrices are kept by their structure
    if dense and max(model.n, model.m) * model.n > DENSE_LIMIT:
        raise ValueError(
            f"`minimize(method='sqp')` is dense and takes matrices up to {DENSE_LIMIT} entries; got "
            f"{model.n} free variables and {model.m} constraint rows. Use method='multiplier', which "
            "takes sparse Jacobians as they are and keeps one n × n matrix, or a sparse solver such as IPOPT."
        )
    if model.n:
        ending = run_attempts(model, tolerances, watch, problem.evaluation.has_hessian, noisy)
    else:
        ending = _nothing_free(model, tolerances)
    iterate = ending.iterate
    if watch.last < iterate.iteration:  # the last one, which no callback saw
        watch.rows.append(row_of(iterate, rows.sign, record))
    point = iterate.point
    f, values, g, J = point.f, point.values, point.gradient, point.jacobian
    z = model.expand_dual(iterate.z)
    if model.n < z.size:  # what a fixed variable is worth follows from stationarity
        fixed = problem.lower == problem.upper
        z[fixed] = -(g + J.T @ rows.pull_back(iterate.y * rows.sign, values.size))[fixed]
    return Outcome(
        Solution(model.expand(point.x).copy(), f, values, g, J, iterate.y, z),
        ending.status,
        tolerances,
        partial(_stationarity, model, ending),
        ending.iterations,
        _conflict_labels(ending, problem, model),
        _relaxation(ending, rows),
    )


def _stationarity(model: Model, ending: Ending, residual: Array) -> float:
    """The residual (n_all,) of the gradient as the algorithm measures it."""
    point = ending.iterate.point
    own = model.reduced(residual)
    sizes = ending.iterate.sizes
    seen = point.g, sizes.unit, sizes.steepest, sizes.reach, ending.iterate.enough
    return relative_residual(own, *seen, SEEN_SHARE, OWN_SHARE)


def _nothing_free(model: Model, tolerances: Tolerances) -> Ending:
    """All variables are fixed: the start is the answer, feasible or not."""
    point = model.at(model.start)
    model.differentiate(point)
    violations = model.violations(point.r)
    worst = largest(violations)
    measure = Measure(worst, 0.0, 0.0, 0.0, 0.0, 0.0)
    sizes = first_sizes(point.g, model.start_sizes)
    iterate = Iterate(point, np.zeros(model.m), np.zeros(0), measure, worst, 0.0, sizes, 0)
    if largest(violations / model.target_size) <= tolerances.feasibility:
        return Ending(Status.CONVERGED, iterate, 0)
    broken = violations > 0.0
    nothing_helps = Diagnosis(broken, np.zeros(0, dtype=bool), np.where(broken, violations, np.nan))
    return Ending(Status.INFEASIBLE, iterate, 0, nothing_helps)


def _conflict_labels(ending: Ending, problem: Problem, model: Model) -> list[str]:
    if ending.conflict is None:
        return []
    rows, variables = problem.rows.labels, problem.variables
    return [rows[i] for i in np.flatnonzero(ending.conflict.rows)] + [
        f"bounds of {variables[model.free[i]]}" for i in np.flatnonzero(ending.conflict.bounds)
    ]


def _relaxation(ending: Ending, rows: Rows) -> dict[str, float]:
    if ending.conflict is None:
        return {}
    amounts = ending.conflict.relaxation
    return {rows.labels[i]: float(amounts[i]) for i in np.flatnonzero(np.isfinite(amounts))}
