"""`minimize`: from the user's functions to a result, by one of three methods."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..problem.canonical import stack_rows
from ..problem.evaluation import Evaluation
from ..problem.problem import Problem
from ..problem.scipy_forms import no_limits, read_bounds, read_constraints
from ..problem.steps import read_steps
from ..types import Array
from .checks import warn_before
from .methods import METHODS
from .noisy.look import MOST_VARIABLES
from .norms import all_finite, extremes
from .options import Options
from .result import Evaluations, Result, build_result, unfinished
from .session import session
from .start import find_start
from .status import Status
from .watch import StopError, Watch, read_callback

__all__ = ["METHODS", "Options", "minimize"]


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
    names: Sequence[str] | None = None,
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
        SciPy's are called "constraint 0" and so on unless they have a name: an attribute `name` set on the
        object, or a key "name" of the dict.
    tol : float, optional
        Stationarity required, relative to the gradient; 1e-6 by default.
    callback : callable, optional
        ``callback(intermediate_result)`` (by that name: `x`, `fun`, `maxcv`, `nit` and more),
        ``callback(xk)``, or ``callback(xk, state)`` as of SciPy's "trust-constr", where `state` is the
        intermediate result; after each iteration. It stops the solve by raising StopIteration, and in the
        last form by returning True too.
    options : dict, optional
        See `Options`; also accepted as keywords. Options of SciPy's own methods are ignored with a warning.
    names : sequence of str, optional
        Names of the variables for ``result.report()``; x[0], x[1], ... by default.

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
    settings = Options.read({} if options is None else options, more_options, tol)
    if not isinstance(method, str) or method not in METHODS:
        names = ", ".join(map(repr, METHODS))
        raise ValueError(f"`minimize(method=...)` must be one of {names}; got {method!r}.")
    if settings.noise is not None:
        if method not in ("sqp", "noisy"):
            raise ValueError(f"`minimize(noise=...)` is for the default method; got method={method!r}.")
        method = "noisy"
    start = _read_start(x0)
    variables = _read_names(names, start.size)
    limits = read_bounds("minimize", bounds, start.size)
    if limits is None:
        limits = no_limits(start.size)
    evaluation = Evaluation(
        "minimize",
        fun,
        read_constraints("minimize", constraints),
        jac=jac,
        hess=hess,
        args=args,
        bounds=limits,
        forgiving=settings.on_failure == "backtrack",
        strict=settings.on_failure == "raise",
        steps=read_steps("minimize", settings.finite_diff_rel_step, settings.eps),
    )
    watch = Watch(
        settings.iterations(start.size),
        settings.maxfev,
        settings.max_time,
        lambda: evaluation.nfev,
        read_callback(callback),
    )
    if watch.limited:
        evaluation.calls.guard = watch.allow
    if start.size <= MOST_VARIABLES and evaluation.differenced(-1):
        evaluation.calls.record = {}
    stopped = Status.INVALID_START
    outcome = problem = defined = None
    try:
        with session(evaluation, method, start, settings, watch):
            defined = find_start(evaluation, start, *limits, derivatives=method != "noisy")
            if defined is not None:
                rows = stack_rows("minimize", evaluation.blocks, evaluation.sizes or [])
                problem = Problem(evaluation, rows, *limits, defined, variables)
                if settings.check_gradients:
                    warn_before(problem)
                outcome = METHODS[method](problem, settings, watch)
    except StopError as stop:
        stopped = stop.status
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
    if problem is None or outcome is None:
        result = unfinished(evaluation, start, limits, stopped, variables)
    else:
        result = build_result(problem, outcome, watch.history)
    result["nhev"] = evaluation.nhev
    _add_evaluations(result, evaluation)
    _admit_unknown(result, evaluation, limits)
    if settings.disp:
        sys.stdout.write(f"{result!r}\n")
    return result


def _add_evaluations(result: Result, evaluation: Evaluation) -> None:
    """Put in every point evaluated, as far as they were kept."""
    record = evaluation.calls.record
    result["simulations"] = evaluation.nfev if record is None else len(record)
    if record:
        x, F = (np.array(column) for column in zip(*evaluation.calls.recorded(), strict=True))
        result["evaluations"] = Evaluations(x, F[:, 0], F[:, 1:])


def _admit_unknown(result: Result, evaluation: Evaluation, bounds: tuple[Array, Array]) -> None:
    """Put NaN for what differences inside the bounds cannot tell about fixed variables."""
    lower, upper = bounds
    if evaluation.functions.all_given or extremes(upper - lower)[0] > 0.0:
        return
    fixed = (lower == upper) & (result.x == lower)
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


def _read_start(x0: ArrayLike) -> Array:
    try:
        given = np.asarray(x0)
        if given.dtype.kind == "c":
            raise TypeError
        start = given.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"`minimize(x0=...)` must be real numbers; got {x0!r}.") from None
    if start.ndim == 0:
        start = start.reshape(1)
    if start.ndim != 1 or start.size == 0:
        raise ValueError(f"`minimize(x0=...)` must have one axis and an entry; got shape {start.shape}.")
    if not all_finite(start):
        raise ValueError(f"`minimize(x0=...)` must be finite; got {x0!r}.")
    return start


def _read_names(names: Sequence[str] | None, n: int) -> list[str] | None:
    if names is None:
        return None
    read = [names] if isinstance(names, str) else list(names)
    if len(read) != n or not all(isinstance(name, str) for name in read):
        raise ValueError(f"`minimize(names=...)` must be {n} text(s), one for each variable; got {names!r}.")
    return read
