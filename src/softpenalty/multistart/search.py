"""`search`: many solves of `minimize` inside finite bounds, for the best of their minima."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..solve.options import Options
from ..solve.status import Status
from ..solve.watch import read_callback
from ..types import Array
from .box import Box
from .checkpoint import Checkpoint
from .crew import hire
from .plan import Plan
from .progress import SearchProgress
from .result import SearchResult, Stop, build
from .work import Answer, Statement

__all__ = ["search"]

SOLVES = 200  # made at most where no limit is given


def search(
    fun: Callable[..., Any],
    bounds: Any,
    constraints: Any = (),
    *,
    x0: ArrayLike | None = None,
    jac: Any = None,
    args: tuple[Any, ...] = (),
    maxfev: float | None = None,
    max_time: float | None = None,
    max_solves: int | None = None,
    stop: str | None = "estimate",
    workers: Any = 1,
    vectorized: bool = False,
    rng: Any = None,
    callback: Callable[..., Any] | None = None,
    progress: bool = False,
    options: dict[str, Any] | None = None,
) -> SearchResult:
    """Look for the best of the minima that constraints and finite bounds allow, with few evaluations.

    Every start is solved by `minimize`. The first is a plain Sobol point; then most are hops from the best
    minimum and the others the best of many samples, by a merit that weighs violations by the multipliers
    seen; what has gained most is tried most. Solves that run into a known minimum are stopped.

    Parameters
    ----------
    fun : callable
        The objective, ``fun(x, *args)``.
    bounds : scipy.optimize.Bounds or sequence of (low, high)
        Finite.
    constraints : constraint or sequence of constraints
        As for `minimize`.
    x0 : array (n,), optional
        A start of your own, solved first.
    jac : callable, True, {"2-point", "3-point", "cs"} or None
        Gradient of the objective, as for `minimize`.
    args : tuple
        More arguments of `fun` and `jac`.
    maxfev, max_time, max_solves : optional
        Points evaluated (differences included), seconds and solves allowed; 200 solves if none is given. As
        in `minimize`, a limit is looked at once an iteration.
    stop : {"estimate", None}
        "estimate" ends the search as soon as less than half a level of the objective is expected to be
        missing; None spends what the limits allow.
    workers : int, executor or Dask client
        Processes that solve at the same time (−1 for all cores), each taking the next start as soon as it is
        free; or whoever has a method ``submit``. `fun` and the constraints must be picklable then, and a
        script needs ``if __name__ == "__main__":``. Results are repeatable with one worker only.
    vectorized : bool
        Whether the functions also take many points at once, x (n, S), and return (S,) or (k, S): samples are
        evaluated that way.
    rng : None, int or numpy.random.Generator
        Seed: the same one gives the same result with one worker.
    callback : callable, optional
        ``callback(intermediate_result)``, with a `SearchResult` after each solve; it stops the search by
        raising StopIteration.
    progress : bool
        Whether to show on standard error how far the search is.
    options : dict, optional
        Options of `minimize` for each solve. But ``"checkpoint"`` is a file in which finished starts of the
        search are kept, and ``"resume": True`` goes on from it.

    Returns
    -------
    SearchResult
        The best `Result` of `minimize` with all distinct ``minima``, counts and an ``estimate`` of what is
        left to find. Ctrl-C ends the search with the best so far.

    Notes
    -----
    ``success`` means that the best minimum passed `minimize`'s own test. Nothing is claimed to be global;
    ``result.report()`` says what is known. Objectives with kinks and jumps are others' domain.

    Examples
    --------
    >>> from softpenalty import Constraint, search
    >>> disk = Constraint(lambda x: x[0] ** 2 + x[1] ** 2, "<", 4.0)
    >>> result = search(lambda x: np.cos(3 * x[0]) * x[1] + x[0], [(-3, 3), (-3, 3)], disk, rng=1)
    >>> round(result.fun, 3), result.estimate.found
    (-2.756, 5)
    """
    box = Box.read(bounds)
    _check(stop, vectorized, jac, maxfev=maxfev, max_time=max_time, max_solves=max_solves)
    if maxfev is max_time is max_solves is None:
        max_solves = SOLVES
    settings = dict(options or {})
    Options.read(settings, {})
    file, resume = settings.pop("checkpoint", None), settings.pop("resume", False)
    given = None if x0 is None else box.unit(_read_start(x0, box))
    plan = Plan(box, np.random.default_rng(rng), given, complete=stop is not None)
    tell = read_callback(callback)
    statement = Statement(fun, box, constraints, jac, args, vectorized, settings)
    evaluation = statement.evaluation()
    checkpoint = None if file is None else Checkpoint(file, plan, evaluation, resume)
    evaluations = np.inf if maxfev is None else maxfev
    deadline = np.inf if max_time is None else time.perf_counter() + max_time

    def reason() -> Stop | None:
        if stop is not None and plan.estimate.complete:
            return Stop.COMPLETE
        if plan.solves and plan.nfev + plan.least > evaluations:
            return Stop.EVALUATIONS
        if time.perf_counter() >= deadline:
            return Stop.TIME
        return Stop.SOLVES if max_solves is not None and plan.proposed >= max_solves else None

    def learn(answer: Answer) -> Stop | None:
        plan.take(answer)
        if answer.result.status == Status.INTERRUPTED.number:
            return Stop.INTERRUPTED
        cut_off = answer.unfinished and reason() in (Stop.EVALUATIONS, Stop.TIME)
        if checkpoint is not None and not cut_off:  # with more allowed it will be made again
            checkpoint.append(answer, plan)
        so_far = build(plan, None)
        if show is not None:
            show(so_far.x, {"result": so_far})
        return Stop.CALLBACK if tell is not None and tell(so_far) else None

    ended = show = None
    with ExitStack() as stack:
        if progress:
            show = stack.enter_context(SearchProgress(evaluation))
        crew = stack.enter_context(hire(workers, statement))
        try:
            while ended not in (Stop.CALLBACK, Stop.INTERRUPTED):
                if ended is None and crew.running < crew.size:
                    if (ended := reason()) is None:
                        crew.submit(plan.propose(evaluations - plan.nfev, deadline - time.perf_counter()))
                elif crew.running:
                    ended = learn(crew.next()) or ended
                else:
                    break
        except KeyboardInterrupt:
            if not plan.solves:
                raise
            ended = Stop.INTERRUPTED
    return build(plan, ended)


def _check(stop: Any, vectorized: bool, jac: Any, **limits: Any) -> None:
    if stop not in ("estimate", None):
        raise ValueError(f"`search(stop=...)` must be 'estimate' or None; got {stop!r}.")
    if vectorized and jac is True:
        raise ValueError("`search(vectorized=True)` needs a `jac` of its own; got jac=True.")
    for name, value in limits.items():
        if value is not None and not (isinstance(value, (int, float, np.number)) and value > 0):
            raise ValueError(f"`search({name}=...)` must be positive or None; got {value!r}.")


def _read_start(x0: ArrayLike, box: Box) -> Array:
    try:
        start = np.atleast_1d(np.asarray(x0, dtype=float))
    except (TypeError, ValueError):
        raise TypeError(f"`search(x0=...)` must be real numbers; got {x0!r}.") from None
    if start.shape != box.lower.shape or not np.isfinite(start).all():
        raise ValueError(
            f"`search(x0=...)` must have a finite number for each of the {box.lower.size} pairs of bounds; "
            f"got {x0!r}."
        )
    return np.asarray(np.clip(start, box.lower, box.upper))
