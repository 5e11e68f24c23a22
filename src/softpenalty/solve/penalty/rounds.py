"""What both methods share: solves by BFGS, one after the other, with a penalty that changes in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np

from ...formulas.combinations import find_combination
from ...formulas.kernels import find_kernel
from ...problem.penalty import Penalty
from ...problem.problem import Problem
from ...types import Array, Mask
from ..judgement import judge
from ..norms import largest
from ..options import Options
from ..outcome import Outcome, Solution
from ..status import SUCCESSES, Status
from ..tolerances import Tolerances
from ..watch import StopError, Watch
from .bfgs import Bfgs

__all__ = ["STRONGER", "First", "Rounds", "run_rounds"]

STATIONARITY = 1e-5  # default `tol`: BFGS stalls near sharp corners
# Violation allowed in units of x, relative to max(1, |x|), as nobody knows in which units a row is small: the
# first unless the user has a wish, the second as a share of the `constraint_tol` wished for.
DISTANCE, DISTANCE_SHARE = 3e-10, 0.1
SEEN = 1e-3  # share of the steepest gradient seen, up to 1, that stationarity is relative to at least
OWN = 10.0  # times `tol`: gradient allowed in units of each variable's own size
ROUNDED = 1e-15  # a row is not asked for more, relative to its size
INNER_START, INNER_SHRINK = 1e-2, 0.1  # gradient asked of the first round, relative; factor a round
INNER_LAST = 0.1  # share of `tol` asked of the last rounds
CAREFUL = 1e3  # times the gradient asked for: nearer than that, rounding must not lead away again
ROUNDS = 60
SIGMA = 10.0  # times the gradient in units of the row: twice would do if it were the one at the end
STRONGER = 10.0  # factor on sigma where the penalty has given way
RAISES = 15  # times that this helps: sigma has grown from rounding to rounding then
SATURATED = 0.9  # slope of a kernel from which on it has nothing more to give
ASTRAY = 1e3  # violations so many times what is usual at the start: the penalty does not hold
FAR = 1e12  # distance from the start, relative to max(1, |x|), that nobody wants to go
DEEP = 1e15  # fall of the penalized function, relative to max(1, |value| at the start), likewise
HELPED = 0.9  # a stronger penalty lowers the violation by this factor at least, or did not help
CANCELLED = 1e-2  # a step of max(1, |x|) lowers the violation by no more than this share, to first order
KICK = 0.1  # step off a point where that is so, relative to max(1, |x|): it may be a maximum


class First(NamedTuple):
    """What a method starts with."""

    kernel: str  #: unless the options have one
    corner: float  #: first alpha, relative to what a row changes by when x changes by max(1, |x|)
    accuracy: float  #: `constraint_tol` unless the options have one
    kept: bool  #: whether sigma and alpha stay what the user made them


class _Ending(Enum):
    """How one round ended."""

    STATIONARY = auto()
    STUCK = auto()  # no step improves the point
    ASTRAY = auto()  # far outside the constraints
    ENDLESS = auto()  # the penalized function falls without limit


class Rounds:
    """A sequence of solves that share matrix, limits, history and callback.

    Parameters
    ----------
    problem : Problem
    options, watch : what the user wants, and who sees it
    first : what the method starts with

    Attributes
    ----------
    penalty : objective + penalty of this round, with sigma, alpha and shift of every row
    bfgs : where the minimization stands
    size : (m,) what the violation of a row is relative to
    """

    @np.errstate(all="ignore")
    def __init__(
        self,
        problem: Problem,
        options: Options,
        watch: Watch,
        first: First,
    ) -> None:
        self.problem, self.watch, x = problem, watch, problem.start
        self.evaluation = evaluation = problem.evaluation
        self.bounds = bounds = problem.lower, problem.upper
        given, tol = options.constraint_tol, options.tol
        self.tolerances = replace(
            Tolerances.at(STATIONARITY if tol is None else tol, first.accuracy if given is None else given),
            distance=DISTANCE if given is None else DISTANCE_SHARE * given,
        )
        self.rows = rows = problem.rows
        self.size = np.maximum(1.0, np.abs(rows.target))
        self.free_sigma = np.isnan(rows.sigma) & (options.sigma is None) | (not first.kept)
        self.free_alpha = np.isnan(rows.alpha) & (options.alpha is None) | (not first.kept)
        self.iterations = 0
        g, J = evaluation.derivatives(x)
        lengths = self.lengths(J)
        lengths[lengths == 0.0] = 1.0
        sigma, alpha = options.sigma, options.alpha
        if sigma is None:
            if self.rows.sign.size:  # the start may be a stationary point: look beside it too
                beside, _ = evaluation.derivatives(self.beside(x))
                g = max(g, np.nan_to_num(beside, posinf=0.0, neginf=0.0), key=largest)
            sigma = SIGMA * (float(np.linalg.norm(g)) or 1.0) / lengths
        if alpha is None:
            alpha = first.corner * max(1.0, largest(x)) * lengths
        self.penalty = Penalty(
            evaluation,
            kernel=find_kernel("minimize", first.kernel if options.kernel is None else options.kernel),
            combination=find_combination("minimize", options.combination),
            sigma=sigma,
            alpha=alpha,
        )
        evaluation.pin(x)
        self.penalty(x)  # settles the parameters of the rows, and knows of no bounds
        evaluation.bounds = bounds
        self.bfgs = Bfgs(self.penalty, x, *bounds)
        self._start, self._value = x, self.bfgs.value
        self._steepest = self._worth = 0.0  # largest slope of the objective, in x and in units of x, so far
        self._see(g)
        # What a row changes by when x changes by its size, and what it is off by at the start.
        self._usual = np.maximum(lengths * max(1.0, largest(x)), np.abs(self.penalty.errors(x)))

    @property
    def x(self) -> Array:
        """The current point."""
        return self.bfgs.x

    def lengths(self, J: Any) -> Array:
        """Length of every row's gradient, (m,), from the Jacobian (k, n), dense or sparse."""
        squares = J.multiply(J).sum(axis=1) if hasattr(J, "toarray") else np.vecdot(J, J)
        lengths: Array = np.sqrt(np.asarray(squares).ravel())[self.rows.source]
        return lengths

    def allowed(self) -> Array:
        """Error of each row that counts as none, (m,): small for its target, and small in units of x."""
        reach = self.lengths(self.evaluation.derivatives(self.x)[1]) * max(1.0, largest(self.x))
        by_size = self.tolerances.feasibility * self.size
        by_reach = np.where(reach > 0.0, self.tolerances.distance * reach, np.inf)
        allowed: Array = np.maximum(np.minimum(by_size, by_reach), ROUNDED * np.maximum(self.size, reach))
        return allowed

    def violation(self) -> float:
        """Sum of all violations, in units of what is usual at the start."""
        return float(np.sum(self.penalty.violations(self.x) / self._usual))

    def violated(self) -> Mask:
        """Which rows are violated by more than is allowed."""
        violated: Mask = self.penalty.violations(self.x) > self.allowed()
        return violated

    def forces(self) -> Array:
        """Pull of each row on x, (m,), relative to the gradient of the objective."""
        gradient, J = self.evaluation.derivatives(self.x)
        forces: Array = np.abs(self.penalty.multipliers(self.x)) * self.lengths(J)
        return forces / (self._unit(gradient) or 1.0)

    def unsettled(self) -> Mask:
        """Which rows are violated, or push from a distance, by more than is allowed."""
        off = np.abs(self.penalty.errors(self.x)) > self.allowed()
        pushing = self.forces() > INNER_LAST * self.tolerances.stationarity
        unsettled: Mask = off & (pushing | self.violated())
        return unsettled

    def replace(self, sigma: Array, alpha: Array, shift: Array | None = None) -> None:
        """Change the parameters of the rows, as far as they are ours."""
        penalty = self.penalty
        sigma = np.where(self.free_sigma, sigma, penalty.sigma)
        self.penalty = penalty.replace(sigma=sigma, shift=shift)
        if penalty.kernel.has_width:
            self.penalty = self.penalty.replace(alpha=np.where(self.free_alpha, alpha, penalty.alpha))

    def descend(self, gtol: float) -> _Ending:
        """Minimize the current penalty from the current point, to a gradient of `gtol`, relative."""
        self.bfgs.start(self.penalty, self.x)
        while True:
            self._see(self.evaluation.derivatives(self.x)[0])
            residual = self._residual(self.bfgs.projected())
            if residual <= gtol:
                return _Ending.STATIONARY
            if not self.bfgs.step(careful=residual <= CAREFUL * gtol):
                return _Ending.STUCK
            self.iterations += 1
            self.evaluation.pin(self.x)
            status = self.watch.see(self.x, self._record())
            if status is not None:
                raise StopError(status)
            distance = largest(self.x - self._start) / max(1.0, largest(self._start))
            if distance > FAR or self.bfgs.value < -DEEP * max(1.0, abs(self._value)):
                return _Ending.ENDLESS
            if self.free_sigma.any() and self.violation() > ASTRAY:
                return _Ending.ASTRAY

    def weak(self, ending: _Ending) -> Mask:
        """Which rows are violated although their penalty gives all it can."""
        if ending in (_Ending.ASTRAY, _Ending.ENDLESS):
            return self.violated()
        kernel, alpha = self.penalty.kernel, self.penalty.alpha
        residuals = self.rows.residuals(self.penalty.errors(self.x))
        slopes = np.asarray(kernel.slope(residuals, alpha))
        slopes[self.rows.equality] = np.abs(kernel.tilt(residuals, alpha))[self.rows.equality]
        weak: Mask = self.violated() & (slopes >= SATURATED)
        return weak if kernel.saturates else np.zeros_like(weak)

    def cancelled(self, weak: Mask) -> bool:
        """Whether the rows that give way are flat, cancel each other or press against bounds."""
        _, J = self.evaluation.derivatives(self.x)
        multipliers = np.where(weak, self.penalty.multipliers(self.x), 0.0)
        pull = J.T @ self.rows.pull_back(multipliers, J.shape[0])
        free = np.where(self._pressed(pull), 0.0, pull)
        fall = float(np.linalg.norm(free)) * max(1.0, largest(self.x))
        return fall <= CANCELLED * float(np.abs(multipliers) @ self.penalty.violations(self.x))

    def restart(self, x: Array) -> None:
        """Go to another point, with nothing known about curvature."""
        self.bfgs.forget()
        self.bfgs.start(self.penalty, x)

    def beside(self, x: Array) -> Array:
        """A point near `x`."""
        random = np.random.default_rng(0).uniform(-1.0, 1.0, x.size)
        return np.clip(x + KICK * np.maximum(1.0, np.abs(x)) * random, *self.bounds)

    def finish(self, status: Status, conflict: Mask | None = None) -> Outcome:
        """The outcome at the current point; a success wherever the point is one."""
        multipliers, residuals = (
            self.penalty.multipliers(self.x),
            self.rows.residuals(self.penalty.errors(self.x)),
        )
        # Rows off their target by more than the error accepted are not active. If the point is stationary
        # without them, complementarity holds within that error; if not, their multipliers tell the user more.
        inactive = ~self.rows.equality & (residuals < -self.allowed())
        active = np.where(inactive, 0.0, multipliers)
        tolerances = replace(self.tolerances, complementarity=np.inf)
        if self.violated().any():
            tolerances = replace(tolerances, feasibility=0.0)
        outcome = self._outcome(active, status, tolerances, conflict)
        if outcome.status in SUCCESSES:
            return outcome
        return self._outcome(multipliers, status, replace(tolerances, complementarity=0.0), conflict)

    def _outcome(
        self, multipliers: Array, status: Status, tolerances: Tolerances, conflict: Mask | None
    ) -> Outcome:
        """The outcome with these multipliers, its status judged."""
        x, evaluation, rows = self.x, self.evaluation, self.rows
        f, values = evaluation.values(x)
        g, J = evaluation.derivatives(x)
        pull = g + J.T @ rows.pull_back(multipliers, values.size)
        solution = Solution(
            x, f, values, g, J, multipliers * rows.sign, np.where(self._pressed(pull), -pull, 0.0)
        )
        labels = [] if conflict is None else [rows.labels[i] for i in np.flatnonzero(conflict)]
        outcome = Outcome(solution, status, tolerances, self._residual, self.iterations, labels)
        return replace(outcome, status=judge(self.problem, outcome).status)

    def _pressed(self, pull: Array) -> Mask:
        """Which variables a gradient presses against their bounds."""
        lower, upper = self.bounds
        low, high = (self.x <= lower) & (pull > 0.0), (self.x >= upper) & (pull < 0.0)
        pressed: Mask = low | high | (lower == upper)
        return pressed

    def _sizes(self) -> Array:
        """What a change of each variable is measured by, (n,); 0 where nothing is known."""
        return np.maximum(np.abs(self.x), np.abs(self._start))

    def _see(self, gradient: Array) -> None:
        """Remember how steep the objective has been."""
        self._steepest = max(self._steepest, largest(gradient))
        self._worth = max(self._worth, largest(gradient * self._sizes()))

    def _unit(self, gradient: Array) -> float:
        """Size of the gradient that stationarity is relative to."""
        return max(min(1.0, SEEN * self._steepest), largest(gradient))

    def _residual(self, residual: Array) -> float:
        """Size of a residual gradient, relative to the objective's: largest entry, and by variable."""
        gradient, _ = self.evaluation.derivatives(self.x)
        f, sizes = self.penalty.objective(self.x), self._sizes()
        worth = max(abs(f), largest(gradient * sizes), min(1.0, SEEN * self._worth))
        plain = largest(residual) / (self._unit(gradient) or 1.0)
        return max(plain, largest(residual * sizes) / (OWN * worth or 1.0))

    def _record(self) -> dict[str, Any]:
        """One row of the history."""
        violations = self.penalty.violations(self.x)
        return {
            "nit": self.iterations,
            "fun": self.penalty.objective(self.x),
            "maxcv": float(violations.max(initial=0.0)),
            "violation": float((violations / self.size).max(initial=0.0)),
            "stationarity": self._residual(self.bfgs.projected()),
            "step": self.bfgs.length,
            "trials": self.bfgs.trials,
            "multipliers": self.penalty.multipliers(self.x),
        }


@np.errstate(all="ignore")  # what overflows is not finite, and stepped back from
def run_rounds(run: Rounds, adapt: Callable[[Rounds], bool]) -> Outcome:
    """Minimize, strengthen what gives way, let `adapt` change the rest; until success or nothing helps.

    `adapt` sets the parameters of the next round and says whether there was anything to change.
    """
    last = INNER_LAST * run.tolerances.stationarity
    gtol = INNER_START if (run.free_sigma | run.free_alpha).any() else last
    before, raises, kicked = np.inf, 0, False
    status = Status.NO_PROGRESS
    try:
        for _ in range(ROUNDS):
            begin = run.x
            ending = run.descend(max(gtol, last))
            status = Status.ERROR_LEFT if ending is _Ending.STATIONARY else Status.NO_PROGRESS
            outcome = run.finish(status)
            if outcome.status in SUCCESSES:
                return outcome
            weak = run.weak(ending)
            if weak.any():
                raises += 1
                if not (weak & run.free_sigma).any():
                    return run.finish(Status.WEAK_PENALTY)
                if raises > RAISES:
                    return run.finish(Status.NO_PROGRESS)
                violation, lost = run.violation(), ending in (_Ending.ASTRAY, _Ending.ENDLESS)
                if not lost and violation > HELPED * before and run.cancelled(weak):
                    if kicked:
                        return run.finish(Status.INFEASIBLE, weak)
                    begin, kicked, lost = run.beside(run.x), True, True
                before = np.inf if lost else violation
                run.replace(np.where(weak, STRONGER, 1.0) * run.penalty.sigma, run.penalty.alpha)
                if lost:
                    run.restart(begin)
            elif ending is _Ending.ENDLESS:
                return run.finish(Status.UNBOUNDED)
            elif not adapt(run) and gtol <= last:
                return outcome
            gtol *= INNER_SHRINK
    except StopError as stop:
        status = stop.status
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    run.evaluation.calls.guard = None  # what is needed for the result may have been forgotten
    return run.finish(status)
