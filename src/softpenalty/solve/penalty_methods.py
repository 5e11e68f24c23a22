"""The paper's own way: one smooth penalty minimized by BFGS, and its repetition with balanced sigma.

Both treat bounds like any other constraint, so the functions may be called outside of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize

from ..formulas.combinations import find_combination
from ..formulas.kernels import find_kernel
from ..problem.canonical import stack_rows
from ..problem.evaluation import Evaluation
from ..problem.penalty import Penalty
from .point import Array, find_start, largest
from .result import History, Result, Solution, build_result, invalid_start
from .stopping import Limits, Status, Tolerances

if TYPE_CHECKING:
    from .minimize import Options

__all__ = ["solve_multiplier", "solve_penalty"]

DEFAULT_SIGMA = 10.0  # times the gradient in units of the row: twice would do if it were the one at the end
DEFAULT_ALPHA = 1e-3  # relative to max(1, |target|), where neither the options nor a constraint give alpha
UNDEFINED = 1e100  # penalized value at points where a function failed: any line search turns back
STATIONARITY = 1e-5  # default `tol`: BFGS stalls near sharp corners
FEASIBILITY = 1e-6  # default `constraint_tol`
INNER_START, INNER_SHRINK = 1e-2, 0.1  # gradient asked of the first inner solve, relative; factor a round
ROUNDS = 40
FALL = 0.25  # the violation must fall by this factor a round, else the constraint is enforced harder
HARDER = 4.0  # factor on sigma where a penalty is saturated, divisor of alpha where it is not
SATURATED = 0.9  # share of sigma from which on a multiplier counts as saturated
FADE = 0.1  # sigma does not fall below this share of the last one: a constraint may become active again
SMALLEST_ALPHA = 1e-9  # relative to max(1, |target|): sharper corners gain nothing in double precision


class _StopError(Exception):
    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class _Run:
    """A sequence of BFGS solves that share limits, history and callback."""

    def __init__(
        self,
        evaluation: Evaluation,
        bounds: tuple[Array, Array],
        options: Options,
        tell: Callable[[Result], bool] | None,
        x: Array,
        kernel: str,
    ) -> None:
        self.evaluation, self.bounds, self.tell = evaluation, bounds, tell
        self.limits = Limits(options.maxiter, options.maxfev, options.max_time, lambda: evaluation.nfev)
        self.x, self.iterations, self.history = x, 0, History()
        self.rows = stack_rows("minimize", evaluation.blocks, evaluation.sizes or [])
        all_rows = stack_rows("minimize", evaluation.blocks, evaluation.sizes or [], bounds)
        g, J = evaluation.derivatives(x)
        dense = J.toarray() if hasattr(J, "toarray") else J
        slopes = np.concatenate([np.linalg.norm(dense, axis=1), np.ones(x.size)])[all_rows.source]
        self.g_unit = min(1.0, largest(g)) or 1.0
        self.size = np.maximum(1.0, np.abs(all_rows.target))
        sigma, alpha = options.sigma, options.alpha
        if sigma is None:
            sigma = DEFAULT_SIGMA * (float(np.linalg.norm(g)) or 1.0) / np.where(slopes > 0.0, slopes, 1.0)
        if alpha is None:
            alpha = DEFAULT_ALPHA * self.size
        self.penalty = Penalty(
            evaluation,
            kernel=find_kernel("minimize", kernel if options.kernel is None else options.kernel),
            combination=find_combination("minimize", options.combination),
            sigma=sigma,
            alpha=alpha,
            bounds=scipy.optimize.Bounds(*bounds),
        )
        self.penalty(x)  # settles the parameters of the rows

    def descend(self, gtol: float) -> None:
        """Minimize the current penalty by BFGS from the current point."""

        def value_and_gradient(x: Array) -> tuple[float, Array]:
            status = self.limits.reached(0)
            if status is not None:
                raise _StopError(status)
            value, gradient = self.penalty.value_and_gradient(x)
            if np.isfinite(value) and np.isfinite(gradient).all():
                return value, gradient
            return UNDEFINED, np.zeros_like(gradient)

        def callback(intermediate_result: Any) -> None:
            self.x = intermediate_result.x.copy()
            self.iterations += 1
            self.record()
            if self.tell is not None and self.tell(Result(x=self.x.copy(), **self.history[-1])):
                raise _StopError(Status.CALLBACK)
            status = self.limits.reached(self.iterations)
            if status is not None:
                raise _StopError(status)

        bfgs: Any = scipy.optimize.minimize  # its stubs do not know a callback that stops by raising
        options = {"gtol": gtol, "maxiter": self.limits.iterations}
        with np.errstate(all="ignore"):
            result = bfgs(
                value_and_gradient, self.x, jac=True, method="BFGS", callback=callback, options=options
            )
        self.x = result.x.copy()

    def record(self) -> None:
        penalty, x = self.penalty, self.x
        self.history.append(
            {
                "nit": self.iterations,
                "fun": penalty.objective(x),
                "maxcv": float(penalty.violations(x).max(initial=0.0)),
                "stationarity": self.stationarity(),
                "step": np.nan,
                "trials": 1,
                "multipliers": penalty.multipliers(x)[: len(self.rows)],
            }
        )

    def optimal(self, tolerances: Tolerances) -> bool:
        """Whether the point is stationary and no constraint pushes from a distance."""
        slack = largest(self.penalty.multipliers(self.x) * self.penalty.errors(self.x))
        return self.stationarity() <= tolerances.stationarity and slack <= self.slack(tolerances)

    def slack(self, tolerances: Tolerances) -> float:
        """Largest multiplier·error allowed: an error is accepted on either side of its target, or on none."""
        return tolerances.feasibility * largest(self.penalty.multipliers(self.x) * self.size)

    def stationarity(self) -> float:
        """Gradient of the penalized function, relative to that of the objective."""
        gradient, _ = self.evaluation.derivatives(self.x)
        return largest(self.penalty.gradient(self.x)) / max(self.g_unit, largest(gradient))

    def finish(self, status: Status, tolerances: Tolerances) -> Result:
        x, evaluation = self.x, self.evaluation
        f, values = evaluation.values(x)
        tolerances = replace(tolerances, complementarity=self.slack(tolerances) / max(1.0, abs(f)))
        g, J = evaluation.derivatives(x)
        multipliers, m = self.penalty.multipliers(x), len(self.rows)
        z = np.zeros(x.size)
        np.add.at(z, self.penalty.rows.source[m:] - values.size, multipliers[m:])
        return build_result(
            Solution(x, f, values, g, J, multipliers[:m] * self.rows.sign, z),
            self.rows,
            [block.name for block in evaluation.blocks],
            evaluation.sizes or [],
            self.bounds,
            status,
            tolerances,
            self.g_unit,
            nit=self.iterations,
            nfev=evaluation.nfev,
            njev=evaluation.njev,
            failures=evaluation.failures,
            history=self.history,
        )


def _tolerances(tol: float | None, options: Options) -> Tolerances:
    """What success requires, the same for both methods."""
    return Tolerances.at(
        STATIONARITY if tol is None else tol,
        FEASIBILITY if options.constraint_tol is None else options.constraint_tol,
    )


def solve_penalty(
    evaluation: Evaluation,
    x0: Array,
    bounds: tuple[Array, Array],
    tol: float | None,
    options: Options,
    tell: Callable[[Result], bool] | None,
) -> Result:
    """Minimize objective + penalty once, with fixed sigma and alpha.

    The penalty leaves an error of about alpha. That is a success only where it is within `constraint_tol`,
    to either side of the target.
    """
    x = find_start(evaluation, x0, *bounds)
    if x is None:
        return invalid_start(evaluation, x0, bounds)
    run = _Run(evaluation, bounds, options, tell, x, "softplus")
    tolerances = _tolerances(tol, options)
    try:
        run.descend(tolerances.stationarity * run.g_unit)
        stationary = run.stationarity() <= tolerances.stationarity
        status = Status.ERROR_LEFT if stationary else Status.NO_PROGRESS
    except _StopError as stop:
        status = stop.status
    return run.finish(status, tolerances)


def solve_multiplier(
    evaluation: Evaluation,
    x0: Array,
    bounds: tuple[Array, Array],
    tol: float | None,
    options: Options,
    tell: Callable[[Result], bool] | None,
) -> Result:
    """Repeat the penalty method with sigma = balance(multipliers) after each inner solve.

    At the balance the penalty leaves no error, whatever alpha is. An equality keeps its sigma and has both
    slopes shifted by its multiplier.
    """
    x = find_start(evaluation, x0, *bounds)
    if x is None:
        return invalid_start(evaluation, x0, bounds)
    run = _Run(evaluation, bounds, options, tell, x, "algebraic")
    tolerances = _tolerances(tol, options)
    status = Status.NO_PROGRESS
    gtol, before = INNER_START, np.full(len(run.penalty.rows), np.inf)
    try:
        for _ in range(ROUNDS):
            run.descend(max(gtol, 0.1 * tolerances.stationarity) * run.g_unit)
            violations = run.penalty.violations(run.x) / run.size
            if largest(violations) <= tolerances.feasibility and run.optimal(tolerances):
                status = Status.CONVERGED
                break
            _balance(run, violations, before, tolerances)
            before = violations
            gtol *= INNER_SHRINK
    except _StopError as stop:
        status = stop.status
    return run.finish(status, tolerances)


def _balance(run: _Run, violations: Array, before: Array, tolerances: Tolerances) -> None:
    """Set sigma, shift and alpha for the next round from the multipliers of this one."""
    penalty = run.penalty
    rows, multipliers, sigma = penalty.rows, penalty.multipliers(run.x), np.array(penalty.sigma)
    alpha = np.array(penalty.alpha)
    slow = (violations > tolerances.feasibility) & (violations > FALL * before)
    saturated = slow & (np.abs(multipliers) >= SATURATED * sigma)
    balanced = np.maximum(np.asarray(penalty.combination.balance(multipliers, alpha)), FADE * sigma)
    balanced[saturated] = HARDER * sigma[saturated]
    held = np.where(slow, HARDER, 1.0) * np.maximum(sigma, 2.0 * np.abs(multipliers))
    run.penalty = penalty.replace(
        sigma=np.where(rows.equality, held, balanced), shift=np.where(rows.equality, multipliers, 0.0)
    )
    if penalty.kernel.has_width:
        sharper = slow & ~saturated & ~rows.equality
        alpha[sharper] = np.maximum(alpha[sharper] / HARDER, SMALLEST_ALPHA * run.size[sharper])
        run.penalty.alpha = alpha
