"""What the stop tests look at, and the tests: pure functions of where an attempt stands."""

from __future__ import annotations

import numpy as np

from ...core import compiled
from ...types import Array
from ..norms import largest
from ..status import Status
from ..tolerances import NOISE_FACTOR, Measure, Tolerances
from .merit import Plan
from .model import Model
from .state import ALMOST_FEASIBLE, Iterate, Local, State
from .subproblem.steering import Step

__all__ = ["STALLED_FALL", "TINY_STEP", "UNBOUNDED_FALL", "reason", "seen"]

ROUNDING = 2e-15  # a few units of rounding in x
TINY_STEP = 1e-13  # a relative step that changes nothing
HUGE_MULTIPLIER = 1e9  # of a unit row, relative to the gradient
STALLED_FALL, STALLED_ITERATIONS = 1e-10, 12  # this many feasible iterations without such a relative fall
UNBOUNDED_FALL = 1e15  # relative to max(1, |f|) at the start


def seen(model: Model, state: State, tolerances: Tolerances, local: Local, step: Step, plan: Plan) -> Iterate:
    """The current point as the tests, the history and the result see it."""
    point = state.point
    violation, distance, length, worst, residual, y = measures(
        local.v,
        point.length,
        model.target_size,
        local.x_size,
        ROUNDING,
        point.g,
        step.y,
        local.a,
        step.z,
        step.d,
    )
    f_size = max(state.f_unit, abs(point.f)) or 1.0
    noise = point.g_noise
    if model.m and point.A_noise.size:
        noise += float(np.absolute(y) @ point.A_noise)
    enough = NOISE_FACTOR * noise / tolerances.stationarity
    measure = Measure(
        violation=violation,
        distance=distance,
        stationarity=state.sizes.stationarity(residual, point.g, enough),
        by_variable=state.sizes.stationarity(residual, point.g, enough, own=1.0),
        predicted=plan.predicted / f_size,
        curved=plan.curved / f_size,
        step=length,
        noise=NOISE_FACTOR * noise / (largest(state.sizes.steepest) or 1.0),
        rounding=model.rounding(point, state.weights, local.x_size) / f_size,
    )
    return Iterate(point, y, step.z, measure, worst, enough, state.sizes, state.iteration, state.trials)


@compiled
def measures(
    v: Array,
    lengths: Array,
    target_size: Array,
    x_size: float,
    rounding: float,
    g: Array,
    y: Array,
    a: Array,
    z: Array,
    d: Array,
) -> tuple[float, float, float, float, Array, Array]:
    """Relative violation, distance in x, length of the step, violation, residual (n,), multipliers (m,).

    A row cannot be met better than rounding in x allows.
    """
    violations = v * lengths
    relative = np.maximum(violations - rounding * x_size * lengths, 0.0) / target_size
    return (
        float(relative.max(initial=0.0)),
        float(v.max(initial=0.0)) / x_size,
        largest(d) / x_size,
        float(violations.max(initial=0.0)),
        g + y @ a + z,
        y / lengths,
    )


def reason(iterate: Iterate, state: State, tolerances: Tolerances, local: Local, step: Step) -> Status | None:
    """The reason to stop here that the point itself gives, if there is one."""
    measure = iterate.measure
    if measure.converged(tolerances):
        # Next to a degenerate point huge multipliers can cancel any gradient: go there and look.
        trusted = largest(step.y) <= HUGE_MULTIPLIER * max(state.sizes.unit, local.g_size)
        if trusted or measure.step <= TINY_STEP:
            return Status.CONVERGED
    if measure.violation > ALMOST_FEASIBLE:
        return None
    if iterate.point.f < -UNBOUNDED_FALL * max(1.0, abs(state.f_start)):
        return Status.UNBOUNDED
    if state.stalled >= STALLED_ITERATIONS:
        return Status.ATTAINED if measure.attained(tolerances) else Status.NO_PROGRESS
    return None
