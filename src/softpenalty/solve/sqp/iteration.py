"""One iteration after the other: subproblem → weights → stop tests → line search → curvature.

What happens in the usual case is here; a method that is only declared is what to do in the others, and is
defined in `loop`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ...core import compiled
from ..status import Status
from ..tolerances import Measure, Tolerances, nothing_left
from ..watch import Watch
from .curvature.secant import SPANNED
from .curvature.source import Curvature
from .line_search import SETTINGS as SEARCH
from .line_search import Search, search
from .merit import ALPHA, BALANCED_SHARE, EXACT_GOAL, EXACT_SHARE, Plan, choose, weigh
from .model import Model
from .points import Point, steps_to
from .state import (
    ALMOST_FEASIBLE,
    Ending,
    Iterate,
    Local,
    State,
    Strategy,
    linearize,
    rank,
    record,
    row_of,
    take_in,
)
from .stopping import SETTINGS, STALLED_FALL, TINY_STEP, reason, seen
from .subproblem.qp import Step
from .subproblem.steering import Subproblem

__all__ = ["EXACT_GOAL", "EXACT_SHARE", "Iterating"]  # the shares: for the twin

FIRST_REACH = 1e3  # longest first step, relative to max(1, |x|)
REACH_GROWTH, REACHES = 10.0, 3  # longest later step, relative to the last ones, and how many these are
SHORT_STEP = 1e-3  # a shorter one, relative to the full step, casts doubt on the matrix


@compiled
class Iterating:
    """A run of the algorithm; ``state`` is where it stands."""

    model: Model
    strategy: Strategy
    curvature: Curvature
    tolerances: Tolerances
    watch: Watch
    subproblem: Subproblem
    state: State

    def run(self) -> Ending:
        """Iterate to the end."""
        model, state = self.model, self.state
        while True:
            point, local = state.point, linearize(state.point, model.floor)
            bounds = steps_to(model.lower, model.upper, point.x)
            step = self.subproblem.solve(point.g, state.B, local.a, local.b, *bounds)
            iterate = None
            if step is None:
                status = self.without_step()
            else:
                plan = self.weigh(local, step)
                iterate = self.see(local, step, plan)
                status = self.stop(iterate, local, step, plan)
                if status is None:
                    status = self.advance(local, step, plan, iterate)
                elif status is Status.CONVERGED and self.refine(local):
                    status = None
            if status is not None and not self.revive(status):
                return self.end(status, iterate)
            state.iteration += 1

    def weigh(self, local: Local, step: Step) -> Plan:
        """What the step promises, with weights that follow the multipliers."""
        state = self.state
        plan = weigh(self.model, state.point, state.B, local, step, state.weights, self.strategy.weight)
        state.weights = plan.own_weights
        return plan

    def iterate(self, local: Local, step: Step, plan: Plan) -> Iterate:
        """The current point as the tests, the history and the result see it."""
        model, settings = self.model, (self.tolerances.stationarity, *SETTINGS)
        return seen(self.state, local, step, plan, model.target, model.spaced(), settings)

    def see(self, local: Local, step: Step, plan: Plan) -> Iterate:
        """The current point as an iterate; the best one so far is kept."""
        iterate = self.iterate(local, step, plan)
        self.watch.keep(iterate, rank(iterate, self.tolerances.feasibility))
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
        if status is None and not feasible and self.is_stuck(iterate, local, plan):
            status = Status.INFEASIBLE
        return status or self.watch.see(model.expand(iterate.point.x), row_of(iterate, model.sign, record))

    def advance(self, local: Local, step: Step, plan: Plan, iterate: Iterate) -> Status | None:
        """Go to a better point, or try another matrix; the status where nothing helps any more."""
        state, model, measure = self.state, self.model, iterate.measure
        if nothing_left(measure, self.tolerances) and model.refine(state.point):
            return None
        if plan.predicted <= 0.0 or measure.step <= TINY_STEP:
            return self.without_promise(local, step, measure)
        merit, fall = choose(model.equality, local, step, plan, ALPHA, BALANCED_SHARE)
        t = self.first_length(local.x_size, measure.step * local.x_size)
        limits = state.far, state.unit
        found = search(model, state.point, step.d, merit, fall, t, *limits, not model.m, SEARCH)
        state.trials = found.trials
        if found.point is None or found.t < SHORT_STEP:
            return self.after_short_step(found, iterate, step)
        self.move(found.point, iterate, step)
        state.short_steps = state.failures = 0
        return None

    def first_length(self, x_size: float, size: float) -> float:
        """First length of a step of this size: none is much longer than those before it."""
        reaches = self.state.reaches
        longest = max(REACH_GROWTH * max(reaches), x_size) if reaches else FIRST_REACH * x_size
        return min(1.0, longest / size)

    def move(self, new: Point, iterate: Iterate, step: Step) -> None:
        """Accept ``new`` and update the matrix."""
        old = take_in(self.state, new, self.model.start, REACHES)
        self.state.B = self.curvature.move(old, new, iterate.y, step.corner)

    # In other cases ----------------------------------------------------------------------------------

    @abstractmethod
    def without_step(self) -> Status | None:
        """What to do where the subproblem breaks down."""

    @abstractmethod
    def refine(self, local: Local) -> bool:
        """Better derivatives, if forward differences are too coarse to claim that the point is stationary."""

    @abstractmethod
    def revive(self, status: Status) -> bool:
        """Whether the search can go on in spite of ``status``."""

    @abstractmethod
    def is_stuck(self, iterate: Iterate, local: Local, plan: Plan) -> bool:
        """Whether no step lowers the violation."""

    @abstractmethod
    def without_promise(self, local: Local, step: Step, measure: Measure) -> Status | None:
        """What to do where the step promises nothing."""

    @abstractmethod
    def after_short_step(self, found: Search, iterate: Iterate, step: Step) -> Status | None:
        """What to do where only a very short step, or none, makes the merit fall."""

    @abstractmethod
    def end(self, status: Status, iterate: Iterate | None = None, certificate: Any = None) -> Ending:
        """The outcome."""
