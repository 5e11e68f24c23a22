"""`minimize`: from the user's functions to a result, by one of three methods."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from ..problem.canonical import Rows, stack_rows
from ..problem.evaluation import Evaluation
from ..problem.scipy_forms import read_bounds, read_constraints
from .penalty.fixed import solve_penalty
from .penalty.multiplier import solve_multiplier
from .point import Array, Model, find_start, largest
from .result import History, Result, Solution, build_result, invalid_start
from .sqp import Iterate, Outcome, solve_sqp
from .stopping import Limits, Measure, Status, Tolerances, gradient_noise

__all__ = ["METHODS", "Options", "minimize"]

METHODS = ("sqp", "penalty", "multiplier")
Tell = Callable[[Result], bool]  # what a callback has become: True stops
DENSE_LIMIT = 4_000_000  # entries of a dense n × n or m × n matrix that the dense method accepts (32 MB)


@dataclass(frozen=True)
class Options:
    """The options of `minimize`.

    Attributes
    ----------
    maxiter : iterations (of all inner solves together for "multiplier")
    maxfev : points at which the functions may be evaluated
    max_time : seconds
    constraint_tol : allowed violation, relative to max(1, |target|); `tol` is for stationarity
    disp : write the message to standard output at the end
    kernel, combination, sigma, alpha : the penalty of the methods "penalty" and "multiplier"
    """

    maxiter: int = 300
    maxfev: float = np.inf
    max_time: float = np.inf
    constraint_tol: float | None = None
    disp: bool = False
    kernel: Any = None
    combination: Any = "sum"
    sigma: Any = None
    alpha: Any = None

    @classmethod
    def read(cls, given: dict[str, Any]) -> Options:
        """The options given, with a warning for those that do not exist here."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(given) - known)
        if unknown:
            warnings.warn(
                f"`minimize` does not know the option(s) {', '.join(map(repr, unknown))}, which are ignored; "
                f"it knows {', '.join(map(repr, sorted(known)))} and the argument `tol`.",
                scipy.optimize.OptimizeWarning,
                stacklevel=3,
            )
        options = cls(**{name: given[name] for name in given if name in known})
        for name in ("maxiter", "maxfev", "max_time"):
            value: Any = getattr(options, name)
            if not isinstance(value, (int, float, np.number)) or not value > 0:
                raise ValueError(f"`minimize(options={{{name!r}: ...}})` must be positive; got {value!r}.")
        return options


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
        "sqp", the default, solves a penalty QP an iteration and needs the fewest evaluations. "penalty" is
        one fixed smooth penalty minimized by SciPy's BFGS: give ``options`` sigma, alpha and, as the error
        that you accept, constraint_tol. "multiplier" repeats that with sigma balanced at the multipliers.
    jac : callable, True, {"2-point", "3-point", "cs"} or None
        Gradient of the objective, or how to difference it ("2-point" for None).
    hess : callable, optional
        ``hess(x, *args)``, (n, n). Second derivatives are used when the objective and every nonlinear
        constraint have them.
    hessp : optional
        Accepted for SciPy's sake and not used.
    bounds : scipy.optimize.Bounds or sequence of (low, high), optional
        No function is ever called outside of them.
    constraints : constraint or sequence of constraints
        `softpenalty.Constraint`, SciPy's `LinearConstraint`, `NonlinearConstraint` or dicts, mixed freely.
    tol : float, optional
        Stationarity required, relative to the gradient; 1e-6 by default.
    callback : callable, optional
        ``callback(intermediate_result)`` (by that name: `x`, `fun`, `maxcv`, `nit` and more) or
        ``callback(xk)``, after each iteration. It stops the solve by raising StopIteration.
    options : dict, optional
        See `Options`; also accepted as keywords.

    Returns
    -------
    Result
        Always the best point found: the feasible one of lowest objective, else the least violated.

    Notes
    -----
    Points at which a function raises an exception or returns NaN are stepped back from. Objective and
    constraints that share one expensive computation: see `softpenalty.shared`.

    The method "sqp" is dense: sparse Jacobians are accepted and made dense up to 4 million entries.

    Examples
    --------
    >>> from softpenalty import Constraint, minimize
    >>> area = Constraint(lambda x: x[0] * x[1], ">", 25.0, name="area")
    >>> result = minimize(lambda x: x[0] + x[1], [9.0, 1.0], constraints=area)
    >>> result.x.round(4), result.multipliers["area"].round(4)
    (array([5., 5.]), array([-0.2]))
    """
    settings = Options.read({**(options or {}), **more_options})
    if method not in METHODS:
        names = ", ".join(map(repr, METHODS))
        raise ValueError(f"`minimize(method=...)` must be one of {names}; got {method!r}.")
    if tol is not None and not tol > 0:
        raise ValueError(f"`minimize(tol=...)` must be positive; got {tol!r}.")
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
        schemes = (jac, *(block.jac for block in evaluation.blocks))
        differenced = any(scheme in (None, False, "2-point") for scheme in schemes if not callable(scheme))
        result = _solve(evaluation, start, limits, tol, settings, tell, differenced)
    elif method == "penalty":
        result = solve_penalty(evaluation, start, limits, tol, settings, tell)
    else:
        result = solve_multiplier(evaluation, start, limits, tol, settings, tell)
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
    differenced: bool,
) -> Result:
    """The default method: rows, model, algorithm, result."""
    tolerances = Tolerances.at(tol, options.constraint_tol, differenced)
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
        outcome = _nothing_free(model)
    iterate = outcome.iterate
    if not history or history[-1]["nit"] != iterate.iteration or outcome.status is Status.CONVERGED:
        history.append(_record(iterate, rows))
    x = model.expand(iterate.point.x).copy()
    f, values = evaluation.values(x)
    g, J = evaluation.derivatives(x)
    z = np.zeros(x.size)
    z[model.free] = iterate.z
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
        max(outcome.g_unit, gradient_noise(tolerances, f, iterate.point.x)),
        nit=outcome.iterations,
        nfev=evaluation.nfev,
        njev=evaluation.njev,
        failures=evaluation.failures,
        conflict=_conflict_labels(outcome, rows, model),
        history=history,
    )


def _nothing_free(model: Model) -> Outcome:
    """All variables are fixed: the start is the answer, feasible or not."""
    point = model.at(model.start)
    model.differentiate(point)
    violations = model.violations(point.r)
    worst = largest(violations)
    measure = Measure(worst, 0.0, 0.0, 0.0, 0.0, 0.0)
    iterate = Iterate(point, np.zeros(model.m), np.zeros(0), measure, worst, 0)
    relative = largest(violations / model.target_size)
    if relative <= Tolerances().feasibility:
        return Outcome(Status.CONVERGED, iterate, 0)
    return Outcome(Status.INFEASIBLE, iterate, 0, (violations > 0.0, np.zeros(0, dtype=bool)))


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
        start = np.atleast_1d(np.asarray(x0, dtype=float))
    except (TypeError, ValueError):
        raise TypeError(f"`minimize(x0=...)` must be numbers; got {x0!r}.") from None
    if start.ndim != 1 or start.size == 0:
        raise ValueError(f"`minimize(x0=...)` must have one axis and an entry; got shape {start.shape}.")
    if not np.isfinite(start).all():
        raise ValueError(f"`minimize(x0=...)` must be finite; got {x0!r}.")
    return start.copy()


def _read_callback(callback: Callable[..., Any] | None) -> Tell | None:
    """A function of the intermediate result that says whether to stop, from either of SciPy's forms."""
    if callback is None:
        return None
    if not callable(callback):
        raise TypeError(f"`minimize(callback=...)` must be callable or None; got {callback!r}.")
    try:
        by_name = "intermediate_result" in inspect.signature(callback).parameters
    except (TypeError, ValueError):  # builtins without a signature
        by_name = False

    def tell(result: Result) -> bool:
        try:
            if by_name:
                callback(intermediate_result=result)
            else:
                callback(result.x)
        except StopIteration:
            return True
        return False

    return tell
