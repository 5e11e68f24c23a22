"""`minimize`: from the user's functions to a result, by one of three methods."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..problem.canonical import Rows, stack_rows
from ..problem.evaluation import Evaluation
from ..problem.scipy_forms import read_bounds, read_constraints
from .options import Options, check_positive
from .penalty.fixed import solve_penalty
from .penalty.multiplier import solve_multiplier
from .point import Array, Model, find_start, largest
from .result import History, Result, Solution, build_result, invalid_start
from .sqp import Iterate, Outcome, solve_sqp
from .stopping import Limits, Measure, Sizes, Status, Tolerances

__all__ = ["METHODS", "Options", "minimize"]

METHODS = ("sqp", "penalty", "multiplier")
Tell = Callable[[Result], bool]  # what a callback has become: True stops
DENSE_LIMIT = 4_000_000  # entries of a dense n × n or m × n matrix that the dense method accepts (32 MB)


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str = "sqp",
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    **more_options: Any,
) -> Result:
    """Minimize a function of several variables subject to constraints.

    The arguments have SciPy's meaning, and ``scipy.optimize.minimize(..., method=softpenalty.minimize)``
    works too.

    Parameters
    ----------
    fun : callable
        The objective, ``fun(x, *args)``; with ``jac=True`` it returns the objective and its gradient.
    x0 : array (n,)
        Start; it may violate constraints. It is moved inside the bounds.
    args : tuple
        More arguments of `fun`, `jac` and `hess`.
    method : {"sqp", "penalty", "multiplier"}
        "sqp", the default, solves a penalty QP an iteration and needs the fewest evaluations. "penalty"
        minimizes one smooth penalty after the other by BFGS until it leaves the error that ``options``
        constraint_tol accepts, or just one with the sigma and alpha that ``options`` give. "multiplier"
        repeats that with sigma balanced at the multipliers.
    jac : callable, True, {"2-point", "3-point", "cs"} or None
        Gradient of the objective, or how to difference it ("2-point" for None).
    hess : callable, optional
        ``hess(x, *args)``, (n, n). Second derivatives are used when the objective and every nonlinear
        constraint have them; where one raises an exception, the last ones serve.
    hessp : optional
        Accepted for SciPy's sake and not used.
    bounds : scipy.optimize.Bounds or sequence of (low, high), optional
        No function is ever called outside of them. What a fixed variable (low = high) is worth is known
        where derivatives are given or differenced by "cs" only; elsewhere its entries of ``result.jac`` and
        ``result.multipliers["bounds"]`` are NaN.
    constraints : constraint or sequence of constraints
        `softpenalty.Constraint`, SciPy's `LinearConstraint`, `NonlinearConstraint` or dicts, mixed freely.
    tol : float, optional
        Stationarity required, relative to the gradient; 1e-6 by default.
    callback : callable, optional
        ``callback(intermediate_result)`` (by that name: `x`, `fun`, `maxcv`, `nit` and more),
        ``callback(xk)``, or ``callback(xk, state)`` as of SciPy's "trust-constr", where `state` is the
        intermediate result; after each iteration. It stops the solve by raising StopIteration, and in the
        last form by returning True too.
    options : dict, optional
        See `Options`; also accepted as keywords. Options of SciPy's own methods are ignored with a warning.

    Returns
    -------
    Result
        Always the best point found: the feasible one of lowest objective, else the least violated.

    Notes
    -----
    Points at which a function raises an exception or returns NaN are stepped back from. Objective and
    constraints that share one expensive computation: see `softpenalty.shared`.

    Coming from SciPy's SLSQP: a dict of type "ineq" states fun(x) ≥ 0, which makes it a ``>`` here, and its
    multiplier is ≤ 0, where SLSQP's is ≥ 0. Multipliers of type "eq" have the opposite sign too: stationarity
    is ∇objective + Jᵀ·multipliers = 0 here and ∇objective = Jᵀ·multipliers there. `result.multipliers` is a
    dict, with "constraint 0" and so on in the order given and the bounds under "bounds"; SLSQP's is an array,
    equalities first.

    ``keep_feasible=True`` is honoured for `bounds`; for constraints it is not, and a warning says so.

    The method "sqp" is dense: sparse Jacobians are accepted and made dense up to 4 million entries.

    Examples
    --------
    >>> from softpenalty import Constraint, minimize
    >>> area = Constraint(lambda x: x[0] * x[1], ">", 25.0, name="area")
    >>> result = minimize(lambda x: x[0] + x[1], [9.0, 1.0], constraints=area)
    >>> result.x.round(4), result.multipliers["area"].round(4)
    (array([5., 5.]), array([-0.2]))
    """
    settings = Options.read(options or {}, more_options)
    if method not in METHODS:
        names = ", ".join(map(repr, METHODS))
        raise ValueError(f"`minimize(method=...)` must be one of {names}; got {method!r}.")
    if tol is not None:
        check_positive("tol=...", tol, finite=True)
    start = _read_start(x0)
    limits = read_bounds("minimize", bounds, start.size)
    if limits is None:
        limits = np.full(start.size, -np.inf), np.full(start.size, np.inf)
    evaluation = Evaluation(
        "minimize",
        fun,
        read_constraints("minimize", constraints),
        jac=jac,
        hess=hess,
        args=args,
        bounds=limits,
        forgiving=True,
    )
    tell = _read_callback(callback)
    if method == "sqp":
        result = _solve(evaluation, start, limits, tol, settings, tell)
    elif method == "penalty":
        result = solve_penalty(evaluation, start, limits, tol, settings, tell)
    else:
        result = solve_multiplier(evaluation, start, limits, tol, settings, tell)
    result["nhev"] = evaluation.nhev
    _admit_unknown(result, evaluation, limits)
    if settings.disp:
        sys.stdout.write(f"{result!r}\n")
    return result


def _solve(
    evaluation: Evaluation,
    x0: Array,
    bounds: tuple[Array, Array],
    tol: float | None,
    options: Options,
    tell: Tell | None,
) -> Result:
    """The default method: rows, model, algorithm, result."""
    tolerances = Tolerances.at(tol, options.constraint_tol)
    start = find_start(evaluation, x0, *bounds)
    if start is None:
        return invalid_start(evaluation, x0, bounds)
    rows = stack_rows("minimize", evaluation.blocks, evaluation.sizes or [])
    model = Model(evaluation, rows, *bounds, start)
    if max(model.n, model.m) * model.n > DENSE_LIMIT:
        raise ValueError(
            f"`minimize(method='sqp')` is dense and takes matrices up to {DENSE_LIMIT} entries; got "
            f"{model.n} free variables and {model.m} constraint rows. Use method='multiplier', which "
            "takes sparse Jacobians as they are and keeps one n × n matrix, or a sparse solver such as IPOPT."
        )
    history = History()

    def monitor(iterate: Iterate) -> bool:
        history.append(_record(iterate, rows))
        if tell is None:
            return False
        return tell(Result(x=model.expand(iterate.point.x).copy(), **history[-1]))

    allowed = Limits(options.maxiter, options.maxfev, options.max_time, lambda: evaluation.nfev)
    if model.n:
        outcome = solve_sqp(model, tolerances, allowed, monitor, evaluation.has_hessian)
    else:
        outcome = _nothing_free(model, tolerances)
    iterate = outcome.iterate
    if not history or history[-1]["nit"] < iterate.iteration:  # the last one, which no callback saw
        history.append(_record(iterate, rows))
    point = iterate.point
    f, values, g, J = point.f, point.values, point.gradient, point.jacobian
    x = model.expand(point.x).copy()
    z = model.expand_dual(iterate.z)
    if model.n < x.size:  # what a fixed variable is worth follows from stationarity
        fixed = bounds[0] == bounds[1]
        z[fixed] = -(g + J.T @ rows.pull_back(iterate.y * rows.sign, values.size))[fixed]
    return build_result(
        Solution(x, f, values, g, J, iterate.y, z),
        rows,
        [block.name for block in evaluation.blocks],
        evaluation.sizes or [],
        bounds,
        outcome.status,
        tolerances,
        partial(_stationarity, model, outcome),
        nit=outcome.iterations,
        nfev=evaluation.nfev,
        njev=evaluation.njev,
        failures=evaluation.failures,
        conflict=_conflict_labels(outcome, rows, model),
        history=history,
    )


def _stationarity(model: Model, outcome: Outcome, residual: Array) -> float:
    """The residual (n_all,) of the gradient as the algorithm measures it."""
    point = outcome.iterate.point
    own = residual[model.free] * model.units
    return outcome.sizes.stationarity(own, point.g, outcome.iterate.enough)


def _nothing_free(model: Model, tolerances: Tolerances) -> Outcome:
    """All variables are fixed: the start is the answer, feasible or not."""
    point = model.at(model.start)
    model.differentiate(point)
    violations = model.violations(point.r)
    worst = largest(violations)
    measure = Measure(worst, 0.0, 0.0, 0.0, 0.0, 0.0)
    iterate = Iterate(point, np.zeros(model.m), np.zeros(0), measure, worst, 0.0, 0)
    relative, sizes = largest(violations / model.target_size), Sizes.at(point.g, model.start_sizes)
    if relative <= tolerances.feasibility:
        return Outcome(Status.CONVERGED, iterate, 0, sizes)
    return Outcome(Status.INFEASIBLE, iterate, 0, sizes, (violations > 0.0, np.zeros(0, dtype=bool)))


def _admit_unknown(result: Result, evaluation: Evaluation, bounds: tuple[Array, Array]) -> None:
    """Put NaN for what differences inside the bounds cannot tell about fixed variables."""
    fixed = (bounds[0] == bounds[1]) & (result.x == bounds[0])
    if not fixed.any():
        return
    gradient = evaluation.differenced(-1)
    rows = [
        evaluation.differenced(i) and result.multipliers.get(block.name, np.zeros(0)).any()
        for i, block in enumerate(evaluation.blocks)
    ]
    if gradient:
        result["jac"] = np.where(fixed, np.nan, result.jac)
    if gradient or any(rows):
        result.multipliers["bounds"] = np.where(fixed, np.nan, result.multipliers["bounds"])


def _record(iterate: Iterate, rows: Rows) -> dict[str, Any]:
    """One row of the history."""
    return {
        "nit": iterate.iteration,
        "fun": iterate.point.f,
        "maxcv": iterate.violation,
        "stationarity": iterate.measure.stationarity,
        "step": iterate.measure.step,
        "trials": iterate.trials,
        "multipliers": iterate.y * rows.sign,
    }


def _conflict_labels(outcome: Outcome, rows: Rows, model: Model) -> list[str]:
    if outcome.conflict is None:
        return []
    in_rows, in_bounds = outcome.conflict
    return [rows.labels[i] for i in np.flatnonzero(in_rows)] + [
        f"bounds of x[{model.free[i]}]" for i in np.flatnonzero(in_bounds)
    ]


def _read_start(x0: ArrayLike) -> Array:
    try:
        if np.iscomplexobj(x0):
            raise TypeError
        start = np.atleast_1d(np.asarray(x0, dtype=float))
    except (TypeError, ValueError):
        raise TypeError(f"`minimize(x0=...)` must be real numbers; got {x0!r}.") from None
    if start.ndim != 1 or start.size == 0:
        raise ValueError(f"`minimize(x0=...)` must have one axis and an entry; got shape {start.shape}.")
    if not np.isfinite(start).all():
        raise ValueError(f"`minimize(x0=...)` must be finite; got {x0!r}.")
    return start.copy()


def _read_callback(callback: Callable[..., Any] | None) -> Tell | None:
    """A function of the intermediate result that says whether to stop, from any of SciPy's forms."""
    if callback is None:
        return None
    if not callable(callback):
        raise TypeError(f"`minimize(callback=...)` must be callable or None; got {callback!r}.")
    try:
        parameters = inspect.signature(callback).parameters
    except (TypeError, ValueError):  # builtins without a signature
        parameters = MappingProxyType({})
    by_name = "intermediate_result" in parameters
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters.values() if p.kind in positional and p.default is p.empty]

    def tell(result: Result) -> bool:
        try:
            if by_name:
                callback(intermediate_result=result)
            elif len(required) == 2:  # the form of "trust-constr", which stops where it returns True
                return bool(callback(result.x, result))
            else:
                callback(result.x)
        except StopIteration:
            return True
        return False

    return tell
