"""What a solve returns: SciPy's fields, multipliers by name, the recomputed optimality, a report, a plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize

from .point import Array
from .report import explain
from .stopping import ATTAINABLE_SHARE, SUCCESSES, Status, Tolerances

if TYPE_CHECKING:
    from ..problem.canonical import Rows
    from ..problem.evaluation import Evaluation

__all__ = ["History", "Result", "Solution", "build_result", "invalid_start"]

ACTIVE = 1e-6  # an inequality whose error is below this, relative to max(1, |target|), counts as active
ROUNDING = 1e-14  # some units of rounding
SHOWN = ("message", "success", "status", "fun", "x", "nit", "nfev", "njev", "maxcv", "active")


class History(list[dict[str, Any]]):
    """One dict an iteration: ``nit fun maxcv stationarity step trials multipliers``.

    Examples
    --------
    >>> History([{"fun": 2.0}, {"fun": 1.0}]).column("fun")
    array([2., 1.])
    """

    def column(self, name: str) -> Array:
        """One quantity over the iterations, (k,) or (k, m)."""
        return np.array([row[name] for row in self])


class Result(scipy.optimize.OptimizeResult):
    """The result of `minimize`: a SciPy `OptimizeResult` that explains itself.

    Attributes
    ----------
    x, fun, jac : solution, objective and its gradient (NaN for fixed variables that would have to be moved)
    success : True only when violation and stationarity, recomputed at ``x``, are within tolerance
    status, message : why the solve stopped and what to try next
    nit, nfev, njev, nhev : iterations, points evaluated (differences included), points differentiated,
        points at which second derivatives were asked for
    maxcv : largest violation of a constraint
    multipliers : dict, name → (k,), and ``"bounds"`` → (n,): ∂optimum/∂target with the sign changed,
        so ≥ 0 for ``<``, ≤ 0 for ``>`` and dicts of type "ineq" (SLSQP's are ≥ 0), free for ``=``; NaN for
        fixed variables where derivatives are differenced, which does not leave the bounds
    multiplier_vector : (m,), one entry a row of ``labels``
    labels : (m,) name and comparison of each row
    kkt : dict of ``stationarity``, ``feasibility`` and ``complementarity``
    active : labels of the constraints and bounds that hold with equality
    conflict : labels of those that cannot hold together, where infeasible
    failures : points at which a function raised an exception
    history : `History`
    """

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        self.update(fields)

    def report(self) -> str:
        """Explain the result in words."""
        return explain(self)

    def plot(self, axes: Any = None) -> Any:
        """Draw objective, violation and multipliers over the iterations (needs matplotlib).

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        array of three Axes
        """
        from .plot import draw

        return draw(self.history, self.labels, axes)

    def __repr__(self) -> str:
        width = max(map(len, SHOWN))
        lines = []
        for key in SHOWN:
            if key in self:
                value = self[key]
                text = np.array2string(value, threshold=10) if isinstance(value, np.ndarray) else str(value)
                lines.append(f"{key:>{width}}: {text}")
        return "\n".join(lines)

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
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


def build_result(
    solution: Solution,
    rows: Rows,
    names: Sequence[str],
    sizes: Sequence[int],
    bounds: tuple[Array, Array],
    status: Status,
    tolerances: Tolerances,
    stationarity: Callable[[Array], float],
    **more: Any,
) -> Result:
    """Measure ``solution`` with the user's own scaling and put the result together.

    Parameters
    ----------
    solution : Solution
    rows : canonical rows
    names, sizes : name and number of values of each constraint
    bounds : lower and upper (n,)
    status : why the solve stopped; it is not taken at its word
    tolerances : what success requires
    stationarity : measures the residual (n,) of the gradient
    more : further fields of the result
    """
    x, g = solution.x, solution.g
    lower, upper = bounds
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
    size = np.maximum(1.0, np.abs(rows.target))
    outside = float(np.maximum(lower - x, x - upper).max(initial=0.0))
    kkt = {
        "stationarity": stationarity(residual),
        "feasibility": max(float(violations.max(initial=0.0)), outside),
        "complementarity": float(slack.max(initial=0.0)) / worth,
    }
    # A row cannot be met better than rounding in x and in its own value allows.
    J = abs(solution.J)
    rounding = ROUNDING * np.asarray(J @ np.maximum(1.0, np.abs(x))).ravel()
    allowed = tolerances.feasibility * size + rounding[rows.source]
    feasible = bool((violations <= allowed).all()) and outside <= tolerances.feasibility
    allowed_residual = tolerances.stationarity * (ATTAINABLE_SHARE if status is Status.ATTAINED else 1.0)
    optimal = feasible and kkt["stationarity"] <= allowed_residual
    optimal = optimal and kkt["complementarity"] <= tolerances.complementarity
    # A point that meets the tolerances is a success even if the search beyond it failed, and only then.
    if optimal and status in (Status.NO_PROGRESS, Status.ERROR_LEFT):
        status = Status.CONVERGED
    elif status in SUCCESSES and not optimal:
        status = Status.NO_PROGRESS
    active_rows = rows.equality | (np.abs(errors) <= ACTIVE * size)
    labels = [label for label, is_active in zip(rows.labels, active_rows, strict=True) if is_active]
    labels += [f"x[{i}] = {x[i]:.6g} (lower bound)" for i in np.flatnonzero((x <= lower) & (lower < upper))]
    labels += [f"x[{i}] = {x[i]:.6g} (upper bound)" for i in np.flatnonzero((x >= upper) & (lower < upper))]
    ends = np.cumsum(sizes) if len(sizes) else np.zeros(0, dtype=int)
    parts = np.split(by_value, ends[:-1]) if len(sizes) else []
    by_name = dict(zip(names, parts, strict=True)) | {"bounds": z}
    conflict = more.pop("conflict", [])
    message = status.message
    if status is Status.INFEASIBLE and conflict:
        message += f" In conflict: {', '.join(conflict)}."
    elif status is Status.ATTAINED:
        asked = tolerances.stationarity
        message += f" The residual is {kkt['stationarity']:.1e} where {asked:.1e} was asked for."
    return Result(
        x=x,
        fun=solution.f,
        jac=g,
        success=status in SUCCESSES,
        status=status.number,
        message=message,
        maxcv=kkt["feasibility"],
        multipliers=by_name,
        multiplier_vector=multipliers,
        errors=errors,
        labels=rows.labels,
        kkt=kkt,
        active=labels,
        conflict=conflict,
        **more,
    )


def invalid_start(evaluation: Evaluation, x0: Array, bounds: tuple[Array, Array]) -> Result:
    """The result where nothing could be evaluated."""
    message = Status.INVALID_START.message
    if evaluation.last_failure is not None:
        message += f" The last exception was {evaluation.last_failure!r}."
    n = x0.size
    return Result(
        x=np.clip(x0, *bounds),
        fun=np.nan,
        jac=np.full(n, np.nan),
        success=False,
        status=Status.INVALID_START.number,
        message=message,
        nit=0,
        nfev=evaluation.nfev,
        njev=evaluation.njev,
        maxcv=np.inf,
        multipliers={"bounds": np.zeros(n)},
        multiplier_vector=np.zeros(0),
        errors=np.zeros(0),
        labels=[],
        kkt={"stationarity": np.inf, "feasibility": np.inf, "complementarity": np.inf},
        active=[],
        conflict=[],
        failures=evaluation.failures,
        history=History(),
    )
