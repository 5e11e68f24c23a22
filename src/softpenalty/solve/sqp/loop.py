"""The dense algorithm: penalty QP, balanced merit, rebuilt curvature.

One iteration is the body of `Iterating.run`: subproblem → weights → stop tests → line search → curvature.
Here is what there is to do around it: attempts, and what they do where something goes wrong. All
rows enter as unit rows (divided by the length of their gradient at the current point) and the first matrix
is measured by the gradient, so the steps do not depend on the units of objective and constraints.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...types import Mask
from ..norms import largest
from ..status import SUCCESSES, Status
from ..tolerances import Measure, Tolerances, attained
from ..watch import StopError, Watch
from .curvature.exact import ExactCurvature
from .curvature.large import secant_curvature
from .curvature.source import Curvature
from .doctor import diagnose
from .infeasibility import conflict, is_stuck
from .iteration import Iterating
from .line_search import Search
from .merit import Plan
from .model import Model
from .recovery import TRY_AGAIN, go_on_from, lower_elastic_weight, restart, revive, stiffen
from .restoration import restore
from .state import (
    ALMOST_FEASIBLE,
    FIRST,
    SECOND,
    Ending,
    Iterate,
    Local,
    Strategy,
    at_start,
    linearize,
    rank,
    without_derivatives,
)
from .subproblem.qp import Step
from .subproblem.steering import Subproblem

__all__ = ["Attempt", "run_attempts"]

SHORT_STEPS = 4  # this many short steps in a row: the matrix is no good


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


class Attempt(Iterating):
    """One run from the start of ``model``, and what it does where an iteration is not the usual one."""

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
        self.state = at_start(model, iteration)
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

    def without_step(self) -> Status | None:
        """Begin with a fresh matrix where the subproblem breaks down."""
        status = self.watch.reached(self.state.iteration)
        if status is None and not restart(self):
            status = Status.NO_PROGRESS
        return status

    def refine(self, local: Local) -> bool:
        """Better derivatives, if forward differences are too coarse to claim that the point is stationary."""
        state, size = self.state, max(self.state.sizes.unit, local.g_size) or 1.0
        coarse = self.model.truncated(state.point, state.B) > self.tolerances.stationarity * size
        return coarse and self.model.refine(state.point)

    def revive(self, status: Status) -> bool:
        """Whether better differences, or a less violated point, let a search that is stuck go on."""
        return revive(self, status)

    def is_stuck(self, iterate: Iterate, local: Local, plan: Plan) -> bool:
        """Whether no step lowers the violation, by a certificate that has held for some iterations."""
        return is_stuck(self.model, self.state, iterate, local, plan, self.subproblem)

    def without_promise(self, local: Local, step: Step, measure: Measure) -> Status | None:
        """The point is as good as it gets, or else the matrix is at fault."""
        if attained(measure, self.tolerances):
            return Status.ATTAINED
        lower_elastic_weight(self, local.g_size, largest(step.y))
        return None if restart(self) else Status.NO_PROGRESS

    def after_short_step(self, found: Search, iterate: Iterate, step: Step) -> Status | None:
        """Noise, coarse differences, the end, or a matrix that is no good."""
        if self.noisy is not None:
            noisy, self.noisy = self.noisy, None
            if noisy():
                return Status.NOISY
        if found.point is not None:
            self.move(found.point, iterate, step)
            self.state.short_steps += 1
            if self.state.short_steps >= SHORT_STEPS:
                stiffen(self)
            return None
        if self.model.refine(self.state.point):
            return None
        if attained(iterate.measure, self.tolerances):
            return Status.ATTAINED
        return None if stiffen(self) else Status.NO_PROGRESS

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
            newest = without_derivatives(pending, best, model.target_size, violations)
            best = min(best, newest, key=lambda iterate: rank(iterate, self.tolerances.feasibility))
        return Ending(status, best, self.state.iteration)

    def blank(self) -> Iterate:
        """The current point without step or multipliers."""
        n, m = self.model.n, self.model.m
        step = Step(np.zeros(n), np.zeros(m), np.zeros(n), np.zeros(m, dtype=bool), False)
        local = linearize(self.state.point, self.model.floor)
        return self.iterate(local, step, self.weigh(local, step))
