"""The dense algorithm: penalty QP, balanced merit, rebuilt curvature.

One iteration is the body of `_Attempt.run`: subproblem → weights → stop tests → line search → curvature.
All rows enter as unit rows (divided by the length of their gradient at the current point) and the first
matrix is measured by the gradient, so the steps do not depend on the units of objective and constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .active_set import QP
from .curvature import Curvature, ExactCurvature, SecantCurvature
from .line_search import search
from .merit import BalancedMerit, ExactMerit, Merit
from .point import Array, Mask, Model, Point, largest
from .stopping import Limits, Measure, Status, Tolerances, gradient_noise
from .subproblem import Step, Subproblem

__all__ = ["Iterate", "Outcome", "solve_sqp"]

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
CERTIFICATE_BOX, CERTIFICATE_CURVATURE, CERTIFICATE_FALL = 1e-2, 1e-8, 1e-4  # see `conflict`
STUCK_SHARE = 0.99  # a step that leaves this share of the linearized violation calls for a certificate
TINY = 1e-200  # in place of a zero divisor
ROUNDING = 2e-15  # a few units of rounding in x
HUGE_MULTIPLIER = 1e9  # of a unit row, relative to the gradient
BINDING = 1e-6  # multiplier of the certificate from which a row takes part in the conflict


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
    iteration: int
    trials: int = 0  # of the line search that led here


@dataclass(slots=True)
class Outcome:
    """How a solve ended: the iterate to return and, where infeasible, rows and bounds in conflict."""

    status: Status
    iterate: Iterate
    iterations: int
    conflict: tuple[Mask, Mask] | None = None
    g_unit: float = 0.0  # size of the gradient that stationarity is relative to at least


Monitor = Callable[[Iterate], bool]


def solve_sqp(
    model: Model, tolerances: Tolerances, limits: Limits, monitor: Monitor, exact_hessian: bool = False
) -> Outcome:
    """Solve from ``model.start``; where that fails, once more and more carefully.

    Parameters
    ----------
    model : Model
        Defined at its start.
    tolerances, limits : when to stop
    monitor : told about each iterate; True stops
    exact_hessian : whether to use the user's second derivatives (the second attempt never does)
    """
    curvature = ExactCurvature(model) if exact_hessian else SecantCurvature(model.n, model.m)
    first = _Attempt(model, FIRST, curvature, tolerances, limits, monitor, 0).run()
    if first.status not in TRY_AGAIN:
        return first
    secant = SecantCurvature(model.n, model.m)
    second = _Attempt(model, SECOND, secant, tolerances, limits, monitor, first.iterations + 1).run()
    if second.status is Status.CONVERGED or _better(second.iterate, first.iterate, tolerances):
        return second
    first.iterations = second.iterations
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
        limits: Limits,
        monitor: Monitor,
        iteration: int,
    ) -> None:
        self.model, self.strategy, self.curvature = model, strategy, curvature
        self.tolerances, self.limits, self.monitor = tolerances, limits, monitor
        self.iteration = iteration
        self.point = point = model.at(model.start)
        model.differentiate(point)
        g_size = largest(point.g)
        self.f_start = point.f
        # Sizes that "small" is measured by: 1, or what the objective and its gradient have shown so far.
        self.f_unit, self.g_unit = 0.0, min(1.0, g_size)
        self.unit = point.length
        self.far = FAR * max(1.0, float((model.violations(point.r) / self.unit).sum()))
        self.subproblem = Subproblem(model.equality, model.n, strategy.nu * (g_size or 1.0))
        self.weights = np.zeros(model.m)  # of the exact merit, in the rows' own units
        self.B = curvature.begin(point, self.scale())
        self.best: Iterate | None = None
        self.failures = self.restarts = self.short_steps = self.stalled = self.trials = 0
        self.lowest = np.inf  # exact merit that the stall test compares with
        self.reaches: list[float] = []

    def run(self) -> Outcome:
        """Iterate to the end."""
        model = self.model
        while True:
            local = self.linearize()
            point = self.point
            step = self.subproblem.solve(
                point.g, self.B, local.a, local.b, model.lower - point.x, model.upper - point.x
            )
            if step is None:
                going_on = self.restart()
            else:
                plan = self.weigh(local, step)
                iterate = self.measure(local, step, plan)
                status = self.stop(iterate, local, step, plan)
                if status is not None:
                    return self.end(status, iterate)
                going_on = self.advance(local, step, plan, iterate)
            if not going_on:
                return self.end(Status.NO_PROGRESS)
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
            enough = max(self.strategy.nu * local.g_size, MUCH_HEAVIER * largest(step.y))
            self.subproblem.nu = min(self.subproblem.nu, enough)
            return self.restart()
        merit, fall = self.choose_merit(local, step, plan)
        t = self.first_length(local, step)
        found = search(self.model, self.point, step.d, merit, fall, t, self.far, self.unit)
        self.trials = found.trials
        if found.point is None:
            return self.model.refine(self.point) or self.stiffen()
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
        f_size = max(self.f_unit, abs(point.f), TINY)
        noise = gradient_noise(self.tolerances, point.f, point.x)
        g_size = max(self.g_unit, local.g_size, noise, TINY)
        measure = Measure(
            violation=float(relative.max()) if relative.size else 0.0,
            distance=(float(local.v.max()) if local.v.size else 0.0) / local.x_size,
            stationarity=largest(residual) / g_size,
            predicted=plan.predicted / f_size,
            curved=plan.curved / f_size,
            step=largest(step.d) / local.x_size,
        )
        worst = float(violations.max()) if violations.size else 0.0
        y = step.y / point.length
        iterate = Iterate(point, y, step.z, measure, abs(worst), self.iteration, self.trials)
        if self.best is None or _better(iterate, self.best, self.tolerances):
            self.best = iterate
        return iterate

    def stop(self, iterate: Iterate, local: _Local, step: Step, plan: _Plan) -> Status | None:
        """The reason to stop here, if there is one."""
        measure = iterate.measure
        if measure.converged(self.tolerances):
            # Next to a degenerate point huge multipliers can cancel any gradient: go there and look.
            trusted = largest(step.y) <= HUGE_MULTIPLIER * max(self.g_unit, local.g_size)
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
                return Status.NO_PROGRESS
        elif not step.met:
            left = float(self.model.violations(local.b + plan.change).sum())
            if left >= STUCK_SHARE * float(local.v.sum()) and self.conflict(local) is not None:
                return Status.INFEASIBLE
        if self.monitor(iterate):
            return Status.CALLBACK
        return self.limits.reached(self.iteration)

    def no_step(self) -> Step:
        """A step to nowhere, without multipliers."""
        n, m = self.model.n, self.model.m
        return Step(np.zeros(n), np.zeros(m), np.zeros(n), np.zeros(m, dtype=bool), False)

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
        self.g_unit = max(self.g_unit, min(1.0, largest(new.g)))
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

    def conflict(self, local: _Local) -> tuple[Mask, Mask] | None:
        """Rows and bounds that keep the violation from falling nearby, None when it can fall.

        The certificate is a penalty QP without objective: it minimizes Σ of the linearized violations in a
        small box.
        """
        model, point = self.model, self.point
        box = CERTIFICATE_BOX * local.x_size
        lower, upper = np.maximum(model.lower - point.x, -box), np.minimum(model.upper - point.x, box)
        limits = np.zeros(model.m)
        qp = QP(
            np.zeros(model.n),
            CERTIFICATE_CURVATURE * np.eye(model.n),
            local.a,
            local.b,
            np.concatenate([limits, lower]),
            np.concatenate([limits, upper]),
        )
        solution = self.subproblem.solve_elastic(qp, 1.0)
        if solution is None:
            return None
        before = float(local.v.sum())
        after = float(model.violations(local.b + local.a @ solution.d).sum())
        if before - after > CERTIFICATE_FALL * before:
            return None
        at_bound = (lower > -box) & (solution.z < -BINDING) | (upper < box) & (solution.z > BINDING)
        return np.abs(solution.y) > BINDING, at_bound

    def end(self, status: Status, iterate: Iterate | None = None) -> Outcome:
        """The outcome, with the best point unless the last one is the answer."""
        if status in (Status.CONVERGED, Status.UNBOUNDED, Status.INFEASIBLE) and iterate is not None:
            chosen = iterate
        elif self.best is not None:
            chosen = self.best
        else:  # not even the first subproblem could be solved
            local, step = self.linearize(), self.no_step()
            chosen = self.measure(local, step, self.weigh(local, step))
        conflict = None
        if chosen.measure.violation > ALMOST_FEASIBLE and status is not Status.CALLBACK:
            self.point = chosen.point
            conflict = self.conflict(self.linearize())
            if conflict is not None and status is Status.NO_PROGRESS:
                status = Status.INFEASIBLE
        return Outcome(status, chosen, self.iteration, conflict, self.g_unit)
