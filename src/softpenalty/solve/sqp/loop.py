"""The dense algorithm: penalty QP, balanced merit, rebuilt curvature.

One iteration is the body of `Attempt.run`: subproblem → weights → stop tests → line search → curvature.
All rows enter as unit rows (divided by the length of their gradient at the current point) and the first
matrix is measured by the gradient, so the steps do not depend on the units of objective and constraints.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...types import Mask
from ..norms import largest
from ..status import SUCCESSES, Status
from ..tolerances import Tolerances, attained, nothing_left
from ..watch import StopError, Watch
from .curvature.exact import ExactCurvature
from .curvature.large import secant_curvature
from .curvature.secant import SPANNED
from .curvature.source import Curvature
from .doctor import diagnose
from .infeasibility import conflict, is_stuck
from .line_search import search
from .merit import Plan, choose, weigh
from .model import Model, Point, distance, steps_to
from .recovery import TRY_AGAIN, go_on_from, lower_elastic_weight, restart, revive, stiffen
from .restoration import restore
from .state import ALMOST_FEASIBLE, FIRST, SECOND, Ending, Iterate, Local, State, Strategy, linearize
from .stopping import STALLED_FALL, TINY_STEP, reason, seen
from .subproblem.steering import Step, Subproblem

__all__ = ["Attempt", "run_attempts"]

FIRST_REACH = 1e3  # longest first step, relative to max(1, |x|)
REACH_GROWTH = 10.0  # longest later step, relative to the last three
SHORT_STEP, SHORT_STEPS = 1e-3, 4  # this many step lengths in a row below it: the matrix is no good


def run_attempts(
    model: Model,
    tolerances: Tolerances,
    watch: Watch,
    exact_hessian: bool = False,
    noisy: Callable[[], bool] | None = None,
) -> Ending:
    """Solve from ``model.start``; where that fails, once more and more carefully, and from where rows hold.

    Parameters
    ----------
    model : Model
        Defined at its start.
    tolerances, watch : when to stop; `watch` sees every iterate and keeps the best one
    exact_hessian : whether to use the user's second derivatives (the second attempt never does)
    noisy : asked once where a step must be very short: are the functions too noisy for differences?
    """
    curvature = ExactCurvature(model) if exact_hessian else secant_curvature(model.n, model.m)
    attempt = Attempt(model, FIRST, curvature, tolerances, watch, 0)
    attempt.noisy = noisy
    try:
        first = attempt.run()
        if first.status not in TRY_AGAIN:
            return first
        secant = secant_curvature(model.n, model.m)
        attempt = Attempt(model, SECOND, secant, tolerances, watch, first.iterations + 1)
        second = attempt.run()
        if second.status is not Status.NO_PROGRESS or second.iterate.measure.violation <= ALMOST_FEASIBLE:
            return second
        status, certificate = restore(attempt)
        if status is not None:
            return attempt.end(status, certificate=certificate)
        feasible = attempt.state.point
        attempt = Attempt(model, SECOND, secant, tolerances, watch, attempt.state.iteration)
        go_on_from(attempt, feasible)
        return attempt.run()
    except StopError as stop:
        return attempt.cut_short(stop.status)
    except KeyboardInterrupt:
        return attempt.cut_short(Status.INTERRUPTED)


class Attempt:
    """One run from the start of ``model``; ``state`` is where it stands."""

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
        self.noisy: Callable[[], bool] | None = None
        self.state = State.at_start(model, iteration)
        g_size = largest(self.state.point.g) or 1.0
        self.subproblem = Subproblem(model.equality, model.n, strategy.nu * g_size, watch.deadline)
        self.begin()

    def begin(self, stiffness: float = 1.0) -> None:
        """A fresh matrix, which makes the first step about as long as x, and no weights."""
        point = self.state.point
        size = largest(point.g) or 1.0
        scale = self.strategy.stiffness * size / max(1.0, largest(point.x))
        self.state.weights = np.zeros(self.model.m)
        self.state.B = self.curvature.begin(point, scale * stiffness)

    @property
    def best(self) -> Iterate | None:
        """The best iterate of all attempts."""
        best: Iterate | None = self.watch.best
        return best

    def run(self) -> Ending:
        """Iterate to the end."""
        model, state = self.model, self.state
        while True:
            point, local = state.point, linearize(state.point, model.floor)
            bounds = steps_to(model.lower, model.upper, point.x)
            step = self.subproblem.solve(point.g, state.B, local.a, local.b, *bounds)
            iterate = None
            if step is None:
                status = self.watch.reached(state.iteration)
                if status is None and not restart(self):
                    status = Status.NO_PROGRESS
            else:
                plan = self.weigh(local, step)
                iterate = self.see(local, step, plan)
                status = self.stop(iterate, local, step, plan)
                if status is Status.CONVERGED and self.refine(local):
                    status = None
                elif status is None:
                    status = self.advance(local, step, plan, iterate)
            if status is not None and not revive(self, status):
                return self.end(status, iterate)
            state.iteration += 1

    def weigh(self, local: Local, step: Step) -> Plan:
        """What the step promises, with weights that follow the multipliers."""
        state = self.state
        plan = weigh(self.model, state.point, state.B, local, step, state.weights, self.strategy.weight)
        state.weights = plan.own_weights
        return plan

    def see(self, local: Local, step: Step, plan: Plan) -> Iterate:
        """The current point as an iterate; the best one so far is kept."""
        iterate = seen(self.model, self.state, self.tolerances, local, step, plan)
        self.watch.keep(iterate, iterate.rank(self.tolerances.feasibility))
        return iterate

    def stop(self, iterate: Iterate, local: Local, step: Step, plan: Plan) -> Status | None:
        """The reason to stop here, if there is one: the point's own, a conflict, a limit or the user's."""
        state, model = self.state, self.model
        feasible = iterate.measure.violation <= ALMOST_FEASIBLE
        if feasible:
            state.slow, state.least = 0, np.inf
            merit = state.point.f + plan.penalty
            # Where pairs do not span the space, the last digits take long: any fall that can be seen counts.
            fall = STALLED_FALL if model.n <= SPANNED else iterate.measure.rounding
            if merit < state.lowest - fall * max(state.f_unit, abs(merit)):
                state.lowest, state.stalled = merit, 0
            else:
                state.stalled += 1
        status = reason(iterate, state, self.tolerances, local, step)
        if status is None and not feasible and is_stuck(model, state, iterate, local, plan, self.subproblem):
            status = Status.INFEASIBLE
        return status or self.watch.see(model.expand(iterate.point.x), iterate.row(model.sign))

    def refine(self, local: Local) -> bool:
        """Better derivatives, if forward differences are too coarse to claim that the point is stationary."""
        state, size = self.state, max(self.state.sizes.unit, local.g_size) or 1.0
        coarse = self.model.truncated(state.point, state.B) > self.tolerances.stationarity * size
        return coarse and self.model.refine(state.point)

    def advance(self, local: Local, step: Step, plan: Plan, iterate: Iterate) -> Status | None:
        """Go to a better point, or try another matrix; the status where nothing helps any more."""
        state, model, measure = self.state, self.model, iterate.measure
        if nothing_left(measure, self.tolerances) and model.refine(state.point):
            return None
        if plan.predicted <= 0.0 or measure.step <= TINY_STEP:
            if attained(measure, self.tolerances):
                return Status.ATTAINED
            lower_elastic_weight(self, local.g_size, largest(step.y))
            return None if restart(self) else Status.NO_PROGRESS
        merit, fall = choose(model.equality, local, step, plan)
        t = self.first_length(local.x_size, measure.step * local.x_size)
        found = search(model, state.point, step.d, merit, fall, t, state.far, state.unit, not model.m)
        state.trials = found.trials
        if self.noisy is not None and (found.point is None or found.t < SHORT_STEP):
            noisy, self.noisy = self.noisy, None
            if noisy():
                return Status.NOISY
        if found.point is None:
            if model.refine(state.point):
                return None
            if attained(measure, self.tolerances):
                return Status.ATTAINED
            return None if stiffen(self) else Status.NO_PROGRESS
        self.move(found.point, iterate, step, found.t)
        return None

    def first_length(self, x_size: float, size: float) -> float:
        """First length of a step of this size: none is much longer than those before it."""
        reaches = self.state.reaches
        longest = max(REACH_GROWTH * max(reaches[-3:]), x_size) if reaches else FIRST_REACH * x_size
        return min(1.0, longest / size)

    def move(self, new: Point, iterate: Iterate, step: Step, t: float) -> None:
        """Accept ``new`` and update the matrix."""
        state = self.state
        old, state.point = state.point, new
        state.reaches.append(distance(old.x, new.x))
        state.f_unit = max(state.f_unit, min(1.0, abs(new.f - state.f_start)))
        state.sizes.see(self.model.start, new.x, new.g)
        state.B = self.curvature.move(old, new, iterate.y, step.corner)
        if t >= SHORT_STEP:
            state.short_steps = state.failures = 0
            return
        state.short_steps += 1
        if state.short_steps >= SHORT_STEPS:
            stiffen(self)

    def end(
        self, status: Status, iterate: Iterate | None = None, certificate: tuple[Mask, Mask] | None = None
    ) -> Ending:
        """The outcome, with the best point unless the last one is the answer.

        ``certificate`` : rows (m,) and bounds (n,) that keep the violation from falling near here, if known
        """
        model, state, here = self.model, self.state, self.state.point
        if status in (*SUCCESSES, Status.UNBOUNDED) and iterate is not None:
            chosen = iterate
        else:  # a blank one where not even the first subproblem could be solved
            chosen = self.best or self.blank()
        diagnosis = None
        if chosen.measure.violation > ALMOST_FEASIBLE and status is not Status.CALLBACK:
            in_conflict = certificate or conflict(model, chosen.point, self.subproblem)
            if status in TRY_AGAIN:
                status = Status.NO_PROGRESS if in_conflict is None else Status.INFEASIBLE
            least = model.least_violated
            less = least is not None and model.worst(least) < model.worst(chosen.point)
            if least is not None and less and model.differentiate(least):
                state.point = least
                chosen = self.blank()
            if in_conflict is not None and status is Status.INFEASIBLE:
                place = chosen.point if certificate is None else here
                diagnosis = diagnose(model, place, self.subproblem, *in_conflict)
        elif status is Status.INFEASIBLE:  # there is a point where the rows hold
            status = Status.NO_PROGRESS
        return Ending(status, chosen, state.iteration, diagnosis)

    def cut_short(self, status: Status) -> Ending:
        """The outcome in the middle of an iteration: the best point so far, without another evaluation."""
        model, best, pending = self.model, self.best or self.blank(), self.model.pending
        if pending is not None and not np.isnan(pending.f):
            violations = model.violations(pending.r)
            newest = Iterate.without_derivatives(pending, best, model.target_size, violations)
            best = min(best, newest, key=lambda iterate: iterate.rank(self.tolerances.feasibility))
        return Ending(status, best, self.state.iteration)

    def blank(self) -> Iterate:
        """The current point without step or multipliers."""
        n, m = self.model.n, self.model.m
        step = Step(np.zeros(n), np.zeros(m), np.zeros(n), np.zeros(m, dtype=bool), False)
        local = linearize(self.state.point, self.model.floor)
        return seen(self.model, self.state, self.tolerances, local, step, self.weigh(local, step))
