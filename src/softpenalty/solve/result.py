"""What a solve returns: SciPy's fields, multipliers by name, the recomputed optimality, a report, a plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..core import compiled
from ..problem.evaluation import Evaluation
from ..problem.problem import Problem, variable_names
from ..types import Array, Mask
from .deferred import DeferredResult
from .judgement import judge
from .outcome import Outcome, Solution
from .report.advice import first_of
from .report.html import as_html
from .report.text import explain
from .status import SUCCESSES, Status, Verdict

__all__ = ["Evaluations", "History", "Result", "build_result", "unfinished"]

ACTIVE = 1e-6  # an inequality whose error is below this, relative to max(1, |target|), counts as active
ORDERS = {"2-point": 1, "3-point": 2}  # power of the step that truncation leaves in a derivative
SHOWN = ("message", "success", "status", "fun", "x", "nit", "nfev", "njev", "maxcv", "active")


class History(list[dict[str, Any]]):
    """One dict an iteration: ``nit fun maxcv violation stationarity step trials multipliers``.

    ``violation`` is the worst one relative to max(1, |target|), ``maxcv`` the largest as it is.

    Examples
    --------
    >>> History([{"fun": 2.0}, {"fun": 1.0}]).column("fun")
    array([2., 1.])
    """

    def column(self, name: str) -> Array:
        """One quantity over the iterations, (k,) or (k, m)."""
        return np.array([row[name] for row in self])


class Evaluations(NamedTuple):
    """Every point at which the functions were evaluated without failing, in order.

    ``x`` (N, n), ``fun`` (N,), ``values`` (N, k) of the constraints.
    """

    x: Array
    fun: Array
    values: Array


class Result(DeferredResult):
    """The result of `minimize`: a SciPy `OptimizeResult` that explains itself.

    Attributes
    ----------
    x, fun, jac
        solution, objective and its gradient (NaN for fixed variables that would have to be moved)
    success
        True only when violation and stationarity, recomputed at ``x``, are within tolerance
    status, message
        why the solve stopped and what to try next
    verdict
        what the point is: "optimal", "optimal to the attainable accuracy", "feasible", "violated" or
        "undefined"
    nit, nfev, njev, nhev
        iterations, points evaluated (differences included), points differentiated,
        points at which second derivatives were asked for
    maxcv
        largest violation of a constraint
    multipliers
        dict, name → (k,), and ``"bounds"`` → (n,): ∂optimum/∂target with the sign changed,
        so ≥ 0 for ``<``, ≤ 0 for ``>`` and dicts of type "ineq" (SLSQP's are ≥ 0), free for ``=``; NaN for
        fixed variables where derivatives are differenced, which does not leave the bounds
    multiplier_vector
        (m,), one entry a row of ``labels``
    labels, operators
        (m,) name and comparison of each row, and the comparison alone
    errors, violations, targets
        (m,) value − target of each row, how far it is broken, and the target
    names, bounds
        (n,) names of the variables, and their limits, a pair of (n,)
    differences
        dict, name of a function whose derivatives were differenced → scheme, the error that
        rounding (or the step that was set) leaves in its largest derivative, and that derivative's size
    kkt
        dict of ``stationarity``, ``feasibility`` and ``complementarity``
    active
        labels of the constraints and bounds that hold with equality
    conflict
        labels of those that cannot hold together, where infeasible
    relaxation
        dict, label → by how much that target alone would have to give way to make the problem
        feasible, as far as the linearized constraints tell; without an entry where it alone is not enough
    failures
        points at which a function raised an exception, gave no answer in time, or was not finite
    failure_messages
        dict, kind of failure → its first message
    evaluations
        `Evaluations`, where derivatives are differenced and there are at most 30 variables
    simulations
        number of different points evaluated
    noise
        dict, "objective" or name of a constraint → standard deviation of its noise at ``x``, where
        `minimize` was told or found that there is any
    uncertainty
        dict of the standard deviations that it leaves in "x" (n,), in "fun" as the least objective, and in
        "multipliers" (m,)
    history
        `History`

    Examples
    --------
    >>> from softpenalty import Constraint, minimize
    >>> wall = Constraint(lambda x: x[0], "<", 1.0, name="wall")
    >>> result = minimize(lambda x: (x[0] - 2.0) ** 2, [0.0], constraints=wall)
    >>> result.success, result.verdict, result.active
    (True, 'optimal', ['wall < 1'])
    >>> result.multipliers["wall"].round(6)
    array([2.])
    >>> result.history.column("maxcv").max() >= result.maxcv
    np.True_
    >>> print(result.report().splitlines()[0])
    Converged: stationary and feasible within tolerance.
    """

    def report(self) -> str:
        """Explain the result in words: the point, what each target is worth, and what to do next."""
        return explain(self)

    def _repr_html_(self) -> str | None:
        """The report, for notebooks; None for what a callback gets."""
        return as_html(self) if "kkt" in self else None

    def plot(self, axes: Any = None) -> Any:
        """Draw objective, violation, stationarity and multipliers over the iterations (needs matplotlib).

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, optional
            Where to draw; a new figure otherwise, in the colours of the current style, light or dark.

        Returns
        -------
        matplotlib Figure
        """
        from .plot import draw

        return draw(self, axes)

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


def build_result(problem: Problem, outcome: Outcome, history: Callable[[], History]) -> Result:
    """Judge the outcome and put the result together."""
    verdict = judge(problem, outcome)
    solution, rows, status, kkt = outcome.solution, problem.rows, verdict.status, verdict.kkt
    evaluation = problem.evaluation
    multipliers, start = {}, 0
    for block, size in zip(rows.blocks, rows.sizes, strict=True):
        multipliers[block.name] = verdict.by_value[start : start + size]
        start += size
    multipliers["bounds"] = verdict.z
    message, conflict = status.message, list(outcome.conflict)
    if status is Status.INFEASIBLE and conflict:
        message += f" In conflict: {first_of(conflict, 'conflict')}."
    elif status is Status.NOISE_FLOOR:
        message += _for_a_digit_more(outcome)
    elif status is Status.ATTAINED:
        asked = outcome.tolerances.stationarity
        message += f" The residual is {kkt['stationarity']:.1e} where {asked:.1e} was asked for."
    result = Result(
        x=solution.x,
        fun=solution.f,
        jac=solution.g,
        success=status in SUCCESSES,
        status=status.number,
        verdict=verdict.verdict.value,
        message=message,
        nit=outcome.iterations,
        nfev=evaluation.nfev,
        njev=evaluation.njev,
        maxcv=kkt["feasibility"],
        multipliers=multipliers,
        multiplier_vector=verdict.multipliers,
        errors=verdict.errors,
        targets=rows.target,
        bounds=(problem.lower, problem.upper),
        differences={} if outcome.noise is not None else _differences(evaluation, solution),
        kkt=kkt,
        conflict=conflict,
        relaxation=dict(outcome.relaxation),
        **_about_noise(problem, outcome),
        failures=evaluation.failures,
        failure_messages=dict(evaluation.calls.messages),
    )
    result.defer(partial(_described, problem, verdict.errors.copy(), solution.x.copy(), history))
    return result


def _described(problem: Problem, errors: Array, x: Array, history: Callable[[], History]) -> dict[str, Any]:
    """The rows and variables by name, and the history, made when they are looked at."""
    rows, names, lower, upper = problem.rows, problem.variables, problem.lower, problem.upper
    active, at_lower, at_upper = holding(errors, rows.target, rows.equality, x, lower, upper, ACTIVE)
    labels = [rows.labels[i] for i in active]
    labels += [f"{names[i]} = {x[i]:.6g} (lower bound)" for i in at_lower]
    labels += [f"{names[i]} = {x[i]:.6g} (upper bound)" for i in at_upper]
    return {
        "violations": rows.violations(errors),
        "labels": rows.labels,
        "operators": rows.operators,
        "names": names,
        "active": labels,
        "history": history(),
    }


@compiled
def holding(
    errors: Array, target: Array, equality: Mask, x: Array, lower: Array, upper: Array, near: float
) -> tuple[list[int], list[int], list[int]]:
    """The rows that hold with equality, and the variables, fixed ones aside, at their bounds."""
    active = equality | (np.abs(errors) <= near * np.maximum(1.0, np.abs(target)))
    loose = lower < upper
    places = active, (x <= lower) & loose, (x >= upper) & loose
    rows, below, above = (place.nonzero()[0].tolist() for place in places)
    return rows, below, above


def _for_a_digit_more(outcome: Outcome) -> str:
    """How uncertain the answer is, and what would make it less so."""
    assert outcome.noise is not None and outcome.uncertainty is not None
    of_x, of_fun, _ = outcome.uncertainty
    return (
        f" The noise of the objective is {outcome.noise[0]:.1e}; the objective is known to ±{of_fun:.1e} and "
        f"x to ±{float(of_x.max(initial=0.0)):.1e}. A digit more takes a tenth of the noise, or about 100 "
        "times as many simulations near here."
    )


def _differences(evaluation: Evaluation, solution: Solution) -> dict[str, tuple[str, float, float]]:
    """What was differenced: the scheme, what rounding leaves in the largest derivative, and its size."""
    if evaluation.functions.all_given:
        return {}
    noise = evaluation.last_noise
    sizes = np.maximum(1.0, np.abs(solution.x))
    ends = np.cumsum([0, 1, *(evaluation.sizes or [])])
    found = {}
    for i, (name, scheme) in enumerate(evaluation.schemes()):
        if scheme is None:
            continue
        derivatives = solution.g if i == 0 else _dense(solution.J[ends[i] - 1 : ends[i + 1] - 1])
        changes = np.abs(derivatives) * sizes
        left, largest = 0.0, float(np.abs(derivatives).max(initial=0.0))
        if noise is not None and changes.size:
            worst = noise[ends[i] : ends[i + 1]].max() / sizes
            left = float(worst[int(np.argmax(changes)) % sizes.size])
        steps = evaluation.steps_of(i - 1)
        if steps is not None and scheme in ORDERS:  # ours keep truncation as small as rounding
            relative = float((steps.at(solution.x, 1.0) / sizes).max())
            left = max(left, relative ** ORDERS[scheme] * largest)
        found[name] = scheme, left, largest
    return found


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def _about_noise(problem: Problem, outcome: Outcome) -> dict[str, Any]:
    """The noise of every function and what it leaves uncertain, where there is any."""
    if outcome.noise is None or outcome.uncertainty is None:
        return {}
    parts = np.split(outcome.noise[1:], np.cumsum(problem.sizes)[:-1]) if problem.sizes else []
    of_x, of_fun, of_multipliers = outcome.uncertainty
    return {
        "noise": {"objective": float(outcome.noise[0])} | dict(zip(problem.names, parts, strict=True)),
        "uncertainty": {"x": of_x, "fun": of_fun, "multipliers": of_multipliers},
    }


def unfinished(
    evaluation: Evaluation,
    x0: Array,
    bounds: tuple[Array, Array],
    status: Status,
    names: Sequence[str] | None,
) -> Result:
    """The result where no iteration could be made: at most the objective at the start is known."""
    x = np.clip(x0, *bounds)
    known = evaluation.known(x)
    message = status.message
    failure = evaluation.calls.last_failure
    if status is Status.INVALID_START and failure is not None:
        message += f" The last exception was {failure!r}."
    n = x.size
    return Result(
        x=x,
        fun=np.nan if known is None else known,
        jac=np.full(n, np.nan),
        success=False,
        status=status.number,
        verdict=Verdict.UNDEFINED.value,
        message=message,
        nit=0,
        nfev=evaluation.nfev,
        njev=evaluation.njev,
        maxcv=np.inf,
        multipliers={"bounds": np.zeros(n)},
        multiplier_vector=np.zeros(0),
        errors=np.zeros(0),
        violations=np.zeros(0),
        targets=np.zeros(0),
        labels=[],
        operators=[],
        names=variable_names(names, n),
        bounds=bounds,
        differences={},
        kkt={"stationarity": np.inf, "feasibility": np.inf, "complementarity": np.inf},
        active=[],
        conflict=[],
        relaxation={},
        failures=evaluation.failures,
        failure_messages=dict(evaluation.calls.messages),
        history=History(),
    )
