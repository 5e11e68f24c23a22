"""The dense algorithm: penalty QP, balanced merit, rebuilt curvature.

One iteration is the body of `_Attempt.run`: subproblem → weights → stop tests → line search → curvature.
All rows enter as unit rows (divided by the length of their gradient at the current point) and the first
matrix is measured by the gradient, so the steps do not depend on the units of objective and constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...types import Array, Mask
from ..norms import largest
from ..status import SUCCESSES, Status
from ..tolerances import NOISE_FACTOR, Measure, Sizes, Tolerances
from ..watch import Watch
from .curvature.convexify import Curvature
from .curvature.exact import ExactCurvature
from .curvature.secant import SecantCurvature
from .infeasibility import conflict, less_violated
from .line_search import search
from .merit import BalancedMerit, ExactMerit, Merit
from .model import Model, Point
from .subproblem.steering import Step, Subproblem

__all__ = ["Ending", "Iterate", "run_attempts"]

EXACT_SHARE = 0.1  # the exact merit must predict a fall of this share of d·Bd, else its weights are raised
EXACT_GOAL = 0.5  # ... to predict this share
BALANCED_SHARE = 0.3  # the balanced merit is used where it predicts a fall of this share of d·Bd
FAR = 1e3  # points whose violations exceed this many times those of the start are not accepted
FIRST_REACH = 1e3  # longest first step, relative to max(1, |x|)
REACH_GROWTH = 10.0  # longest later step, relative to the last three
TINY_STEP = 1e-13  # a relative step that changes nothing
STALLED_FALL, STALLED_ITERATIONS = 1e-10, 12  # this many feasible iterations without such a relative fall
ALMOST_FEASIBLE = 1e-6  # relative violation below which a point counts as feasible for the stall test
SHORT_STEP, SHORT_STEPS = 1e-3, 4  # this many step lengths in a row below it: the matrix is no good
STIFFER = 30.0  # factor on the restarted matrix at each failure: a shorter, more feasible step
MAX_FAILURES = 3  # restarts without one good step in between
MUCH_HEAVIER = 100.0  # than its multipliers: an elastic weight that a restart lowers
MAX_RESTARTS = 5  # restarts because of numerical trouble
UNBOUNDED_FALL = 1e15  # relative to max(1, |f|) at the start
LOOKS = 3  # times an attempt looks for a less violated point before it says "infeasible"
STUCK_SHARE = 0.99  # a step that leaves this share of the linearized violation calls for a certificate
FAR_STEP = 1e2  # ... and so does one this long, relative to max(1, |x|)
STUCK_ITERATIONS = 3  # with a certificate, one after the other, and the rows are in conflict
STUCK_STEP = 1e-2  # ... or one, if the step stays in the region that the certificate speaks of
ROUNDING = 2e-15  # a few units of rounding in x
HUGE_MULTIPLIER = 1e9  # of a unit row, relative to the gradient


@dataclass(frozen=True, slots=True)
class Strategy:
    """How carefully an attempt begins.

    The matrix is ``stiffness``·|gradient|/max(1, |x|) times the identity; ``weight``·|multiplier| is the
    exact merit's weight; ``nu``·|gradient| that of elastic rows.
    """

    stiffness: float
    weight: float
    nu: float


FIRST = Strategy(stiffness=1.0, weight=2.0, nu=10.0)
SECOND = Strategy(stiffness=4.0, weight=4.0, nu=1e4)
TRY_AGAIN = (Status.NO_PROGRESS, Status.INFEASIBLE)


@dataclass(slots=True)
class Iterate:
    """A point with its multipliers (rows (m,), bounds (n,)) and what the stop tests saw there."""

    point: Point
    y: Array
    z: Array
    measure: Measure
    violation: float
    enough: float  # size of the gradient below which differences show nothing
    iteration: int
    trials: int = 0  # of the line search that led here

    def record(self, sign: Array) -> dict[str, Any]:
        """One row of the history; ``sign`` (m,) gives the multipliers the user's signs."""
        return {
            "nit": self.iteration,
            "fun": self.point.f,
            "maxcv": self.violation,
            "violation": self.measure.violation,
            "stationarity": self.measure.stationarity,
            "step": self.measure.step,
            "trials": self.trials,
            "multipliers": self.y * sign,
        }


@dataclass(slots=True)
class Ending:
    """How a solve ended: the iterate to return and, where infeasible, rows and bounds in conflict."""

    status: Status
    iterate: Iterate
    iterations: int
    sizes: Sizes
    conflict: tuple[Mask, Mask] | None = None


def run_attempts(model: Model, tolerances: Tolerances, watch: Watch, exact_hessian: bool = False) -> Ending:
    """Solve from ``model.start``; where that fails, once more and more carefully.

    Parameters
    ----------
    model : Model
        Defined at its start.
    tolerances, watch : when to stop; `watch` sees every iterate
    exact_hessian : whether to use the user's second derivatives (the second attempt never does)
    """
    curvature = ExactCurvature(model) if exact_hessian else SecantCurvature(model.n, model.m)
    first = _Attempt(model, FIRST, curvature, tolerances, watch, 0).run()
    if first.status not in TRY_AGAIN:
        return first
    secant = SecantCurvature(model.n, model.m)
    second = _Attempt(model, SECOND, secant, tolerances, watch, first.iterations + 1).run()
    if second.status in SUCCESSES or _better(second.iterate, first.iterate, tolerances):
        return second
    first.iterations = second.iterations
    if second.status not in TRY_AGAIN:  # the reason of the stop is the one that came last
        first.status = second.status
    return first


def _better(one: Iterate, other: Iterate, tolerances: Tolerances) -> bool:
    """Whether ``one`` is to be preferred: feasible with a lower objective, else less violated."""
    allowed = tolerances.feasibility
    return (max(one.measure.violation, allowed), one.point.f) < (
        max(other.measure.violation, allowed),
        other.point.f,
    )


@dataclass(slots=True)
class _Plan:
    """What a step does to the linearized problem.

    Change of the unit rows' errors (m,), slope g·d, curvature d·Bd, weights of the exact merit (m,) in
    unit rows, and its predicted fall.
    """

    change: Array
    slope: float
    curved: float
    weights: Array
    predicted: float


@dataclass(slots=True)
class _Local:
    """The problem linearized at a point in unit rows: a (m, n), errors b (m,), violations v (m,)."""

    a: Array
    b: Array
    v: Array
    g_size: float
    x_size: float


class _Attempt:
    """One run from the start of ``model``."""

    def __init__(
        self,
        model: Model,
        strategy: Strategy,
        curvature: Curvature,
        tolerances: Tolerances,
        watch: Watch,
        iteration: int,
    ) -> None:
        self.model, self.strategy, self.curvature = model, strategy, curvature
        self.tolerances, self.watch = tolerances, watch
        self.iteration = iteration
        self.point = point = model.at(model.start)
        model.differentiate(point)
        g_size = largest(point.g)
        self.f_start = point.f
        # Sizes that "small" is measured by: 1, or what the objective and its gradient have shown so far.
        self.f_unit, self.sizes = 0.0, Sizes.at(point.g, model.start_sizes)
        self.unit = point.length
        self.far = FAR * max(1.0, float((model.violations(point.r) / self.unit).sum()))
        self.subproblem = Subproblem(model.equality, model.n, strategy.nu * (g_size or 1.0), watch.deadline)
        self.weights = np.zeros(model.m)  # of the exact merit, in the rows' own units
        self.B = curvature.begin(point, self.scale())
        self.best: Iterate | None = None
        self.attained: Iterate | None = None  # where rounding hides all that is left to gain
        self.looks = self.stuck = 0
        self.failures = self.restarts = self.short_steps = self.stalled = self.trials = 0
        self.lowest = np.inf  # exact merit that the stall test compares with
        self.reaches: list[float] = []

    def run(self) -> Ending:
        """Iterate to the end."""
        model = self.model
        while True:
            local = self.linearize()
            point = self.point
            step = self.subproblem.solve(
                point.g, self.B, local.a, local.b, model.lower - point.x, model.upper - point.x
            )
            iterate = None
            if step is None:
                status = self.watch.reached(self.iteration)
                going_on = self.restart()
            else:
                plan = self.weigh(local, step)
                iterate = self.measure(local, step, plan)
                status = self.stop(iterate, local, step, plan)
                going_on = status is None and self.advance(local, step, plan, iterate)
                if self.attained is not None:
                    status, iterate = Status.ATTAINED, self.attained
            if status is None and not going_on:
                status, iterate = Status.NO_PROGRESS, None
            if status is not None and not self.revived(status):
                return self.end(status, iterate)
            self.iteration += 1

    def scale(self) -> float:
        """Curvature that makes the first step about as long as x."""
        size = largest(self.point.g) or 1.0
        return self.strategy.stiffness * size / max(1.0, largest(self.point.x))

    def linearize(self) -> _Local:
        point = self.point
        a, b = point.A / point.length[:, None], point.r / point.length
        return _Local(a, b, self.model.violations(b), largest(point.g), max(1.0, largest(point.x)))

    def weigh(self, local: _Local, step: Step) -> _Plan:
        """Let the exact merit's weights follow the multipliers, and predict what the step gains."""
        point, violations = self.point, self.model.violations
        change = local.a @ step.d
        fall = local.v - violations(local.b + change)
        slope = float(point.g @ step.d)
        curved = float(step.d @ (self.B @ step.d))
        needed = self.strategy.weight * np.abs(step.y)
        weights = np.maximum(needed, 0.5 * (self.weights * point.length + needed))
        predicted = float(weights @ fall) - slope
        if predicted < EXACT_SHARE * curved:
            total = float(fall.sum())
            if total > 0.0:
                weights = weights + (EXACT_GOAL * curved - predicted) / total
                predicted = float(weights @ fall) - slope
        self.weights = weights / point.length
        return _Plan(change, slope, curved, weights, predicted)

    def choose_merit(self, local: _Local, step: Step, plan: _Plan) -> tuple[Merit, float]:
        """The balanced merit where it promises enough, else the exact one, with the predicted fall."""
        merit = BalancedMerit(step.y, plan.weights, self.model.equality)
        fall = merit.penalty(local.b) - merit.penalty(local.b + plan.change) - plan.slope
        if fall >= BALANCED_SHARE * plan.curved:
            return merit, fall
        return ExactMerit(plan.weights, self.model.equality), plan.predicted

    def advance(self, local: _Local, step: Step, plan: _Plan, iterate: Iterate) -> bool:
        """Go to a better point, or try another matrix; False when nothing helps any more."""
        if iterate.measure.nothing_left(self.tolerances) and self.model.refine(self.point):
            return True
        if plan.predicted <= 0.0 or iterate.measure.step <= TINY_STEP:
            if iterate.measure.attained(self.tolerances):
                self.attained = iterate
                return False
            enough = max(self.strategy.nu * local.g_size, MUCH_HEAVIER * largest(step.y))
            self.subproblem.nu = min(self.subproblem.nu, enough)
            return self.restart()
        merit, fall = self.choose_merit(local, step, plan)
        t = self.first_length(local, step)
        found = search(self.model, self.point, step.d, merit, fall, t, self.far, self.unit)
        self.trials = found.trials
        if found.point is None:
            if self.model.refine(self.point):
                return True
            if iterate.measure.attained(self.tolerances):
                self.attained = iterate
                return False
            return self.stiffen()
        self.move(found.point, iterate, step, found.t)
        return True

    def measure(self, local: _Local, step: Step, plan: _Plan) -> Iterate:
        """What the stop tests need; the best point so far is kept."""
        point, model = self.point, self.model
        violations = local.v * point.length
        # A row cannot be met better than rounding in x allows.
        rounding = ROUNDING * local.x_size * point.length
        relative = np.maximum(violations - rounding, 0.0) / model.target_size
        residual = point.g + step.y @ local.a + step.z
        f_size = max(self.f_unit, abs(point.f)) or 1.0
        noise = point.g_noise
        if model.m and point.A_noise.size:
            noise += float(np.absolute(step.y / point.length) @ point.A_noise)
        enough = NOISE_FACTOR * noise / self.tolerances.stationarity
        in_f, in_rows = model.rounding(point)
        measure = Measure(
            violation=float(relative.max()) if relative.size else 0.0,
            distance=(float(local.v.max()) if local.v.size else 0.0) / local.x_size,
            stationarity=self.sizes.stationarity(residual, point.g, enough),
            predicted=plan.predicted / f_size,
            curved=plan.curved / f_size,
            step=largest(step.d) / local.x_size,
            noise=NOISE_FACTOR * noise / (largest(self.sizes.steepest) or 1.0),
            rounding=(in_f + float(self.weights @ in_rows)) / f_size,
        )
        worst = float(violations.max()) if violations.size else 0.0
        y = step.y / point.length
        iterate = Iterate(point, y, step.z, measure, abs(worst), enough, self.iteration, self.trials)
        if self.best is None or _better(iterate, self.best, self.tolerances):
            self.best = iterate
        return iterate

    def stop(self, iterate: Iterate, local: _Local, step: Step, plan: _Plan) -> Status | None:
        """The reason to stop here, if there is one."""
        measure = iterate.measure
        if measure.converged(self.tolerances):
            # Next to a degenerate point huge multipliers can cancel any gradient: go there and look.
            trusted = largest(step.y) <= HUGE_MULTIPLIER * max(self.sizes.unit, local.g_size)
            if trusted or measure.step <= TINY_STEP:
                return Status.CONVERGED
        if measure.violation <= ALMOST_FEASIBLE:
            if iterate.point.f < -UNBOUNDED_FALL * max(1.0, abs(self.f_start)):
                return Status.UNBOUNDED
            merit = iterate.point.f + float((self.weights * iterate.point.length) @ local.v)
            if merit < self.lowest - STALLED_FALL * max(self.f_unit, abs(merit)):
                self.lowest, self.stalled = merit, 0
            else:
                self.stalled += 1
            if self.stalled >= STALLED_ITERATIONS:
                return Status.ATTAINED if measure.attained(self.tolerances) else Status.NO_PROGRESS
        elif self.is_stuck(iterate, local, step, plan):
            return Status.INFEASIBLE
        return self.watch.see(self.model.expand(iterate.point.x), iterate.record(self.model.sign))

    def is_stuck(self, iterate: Iterate, local: _Local, step: Step, plan: _Plan) -> bool:
        """Whether no step lowers the violation, by a certificate that has held for some iterations.

        At a single point it may be due to rows that happen to have no gradient there. A step that meets the
        linearized rows far away from here is not believed either.
        """
        left = float(self.model.violations(local.b + plan.change).sum())
        if left < STUCK_SHARE * float(local.v.sum()) and iterate.measure.step < FAR_STEP:
            self.stuck = 0
            return False
        certified = conflict(self.model, iterate.point, self.subproblem) is not None
        self.stuck = self.stuck + 1 if certified else 0
        return self.stuck >= STUCK_ITERATIONS or (certified and iterate.measure.step <= STUCK_STEP)

    def first_length(self, local: _Local, step: Step) -> float:
        """First step length: no step is much longer than those before it."""
        size = largest(step.d)
        if not self.reaches:
            return min(1.0, FIRST_REACH * local.x_size / size)
        return min(1.0, max(REACH_GROWTH * max(self.reaches[-3:]), local.x_size) / size)

    def move(self, new: Point, iterate: Iterate, step: Step, t: float) -> None:
        """Accept ``new`` and update the matrix."""
        old, self.point = self.point, new
        self.reaches.append(largest(new.x - old.x))
        self.f_unit = max(self.f_unit, min(1.0, abs(new.f - self.f_start)))
        self.sizes.see(self.model.start, new.x, new.g)
        self.B = self.curvature.move(old, new, iterate.y, step.corner | self.model.equality)
        if t >= SHORT_STEP:
            self.short_steps = self.failures = 0
            return
        self.short_steps += 1
        if self.short_steps >= SHORT_STEPS:
            self.stiffen()

    def restart(self) -> bool:
        """Begin with a fresh matrix; False when that was tried too often."""
        self.restarts += 1
        self.trials = 0
        self.weights = np.zeros(self.model.m)
        self.B = self.curvature.begin(self.point, self.scale())
        return self.restarts <= MAX_RESTARTS

    def stiffen(self) -> bool:
        """Begin with a fresh matrix, the stiffer the more often it failed; False when it is hopeless."""
        self.B = self.curvature.begin(self.point, self.scale() * STIFFER**self.failures)
        self.weights = np.zeros(self.model.m)
        self.failures += 1
        self.short_steps = 0
        return self.failures <= MAX_FAILURES

    def revived(self, status: Status) -> bool:
        """Whether better differences, or a less violated point, let a search that is stuck go on."""
        if status in (Status.NO_PROGRESS, Status.ATTAINED) and self.model.refine(self.point):
            self.failures = self.restarts = self.stalled = 0
            self.attained = None
            return True
        return status in TRY_AGAIN and self.look_elsewhere(status)

    def look_elsewhere(self, status: Status) -> bool:
        """Go on from a point that violates the rows less, if the search is stuck where they do not hold."""
        if self.best is None or self.looks >= LOOKS:
            return False
        self.looks += 1
        found: Point | None = self.best.point
        stiffness = STIFFER**self.looks  # so that it does not take the same way again
        if self.best.measure.violation > ALMOST_FEASIBLE:
            found, stiffness = less_violated(self.model, self.best.point, self.unit, self.looks), 1.0
        elif status is not Status.INFEASIBLE:  # stuck, but where the rows hold
            return False
        if found is None:
            return False
        self.point = found
        self.unit = np.maximum(self.unit, found.length)
        self.failures = self.restarts = self.short_steps = self.stalled = self.stuck = self.trials = 0
        self.lowest, self.reaches = np.inf, []
        self.weights = np.zeros(self.model.m)
        self.B = self.curvature.begin(found, self.scale() * stiffness)
        return True

    def end(self, status: Status, iterate: Iterate | None = None) -> Ending:
        """The outcome, with the best point unless the last one is the answer."""
        if status in (*SUCCESSES, Status.UNBOUNDED) and iterate is not None:
            chosen = iterate
        elif self.best is not None:
            chosen = self.best
        else:  # not even the first subproblem could be solved
            chosen = self.blank()
        in_conflict = None
        if chosen.measure.violation > ALMOST_FEASIBLE and status is not Status.CALLBACK:
            in_conflict = conflict(self.model, chosen.point, self.subproblem)
            if status in TRY_AGAIN:
                status = Status.NO_PROGRESS if in_conflict is None else Status.INFEASIBLE
            least = self.model.least_violated
            less = least is not None and self.model.worst(least) < self.model.worst(chosen.point)
            if least is not None and less and self.model.differentiate(least):
                self.point = least
                chosen = self.blank()
        elif status is Status.INFEASIBLE:  # there is a point where the rows hold
            status = Status.NO_PROGRESS
        return Ending(status, chosen, self.iteration, self.sizes, in_conflict)

    def blank(self) -> Iterate:
        """The current point without step or multipliers."""
        n, m = self.model.n, self.model.m
        step = Step(np.zeros(n), np.zeros(m), np.zeros(n), np.zeros(m, dtype=bool), False)
        local = self.linearize()
        return self.measure(local, step, self.weigh(local, step))
