"""What the stop tests look at, and the tests: pure functions of where an attempt stands."""

from __future__ import annotations

import numpy as np

from ...core import compiled
from ...types import Array
from ..norms import largest
from ..status import Status
from ..tolerances import (
    NOISE_FACTOR,
    OWN_SHARE,
    SEEN_SHARE,
    Measure,
    Tolerances,
    attained,
    converged,
    relative_residual,
)
from .merit import Plan
from .state import ALMOST_FEASIBLE, Iterate, Local, State
from .subproblem.qp import Step

__all__ = ["SETTINGS", "STALLED_FALL", "TINY_STEP", "UNBOUNDED_FALL", "reason", "seen"]

ROUNDING = 2e-15  # a few units of rounding in x
TINY_STEP = 1e-13  # a relative step that changes nothing
HUGE_MULTIPLIER = 1e9  # of a unit row, relative to the gradient
STALLED_FALL, STALLED_ITERATIONS = 1e-10, 12  # this many feasible iterations without such a relative fall
UNBOUNDED_FALL = 1e15  # relative to max(1, |f|) at the start
SETTINGS = ROUNDING, NOISE_FACTOR, SEEN_SHARE, OWN_SHARE


@compiled
def seen(
    state: State,
    local: Local,
    step: Step,
    plan: Plan,
    target: Array,
    spacing: float | Array,
    settings: tuple[float, float, float, float, float],
) -> Iterate:
    """The current point as the tests, the history and the result see it.

    Parameters
    ----------
    target : (m,) of the rows
    spacing : relative spacing of the functions' values, one or (1 + m,)
    settings : the tolerance of stationarity, then `SETTINGS`
    """
    tolerance, rounding, noise_factor, seen_share, own_share = settings
    point, sizes = state.point, state.sizes
    lengths, violations = point.length, local.v * point.length
    # A row cannot be met better than rounding in x allows.
    broken = np.maximum(violations - rounding * local.x_size * lengths, 0.0) / np.maximum(1.0, np.abs(target))
    residual, y = point.g + step.y @ local.a + step.z, step.y / lengths
    noise = point.g_noise + (float(np.abs(y) @ point.A_noise) if point.A_noise.size else 0.0)
    enough = noise_factor * noise / tolerance
    seen = point.g, sizes.unit, sizes.steepest, sizes.reach, enough, seen_share
    of_f, of_rows = (spacing, spacing) if isinstance(spacing, float) else (float(spacing[0]), spacing[1:])
    in_rows = of_rows * (np.abs(target) + np.abs(point.r) + lengths * local.x_size)
    rounded = of_f * (abs(point.f) + local.g_size * local.x_size) + float(plan.own_weights @ in_rows)
    f_size = max(state.f_unit, abs(point.f)) or 1.0
    measure = Measure(
        float(broken.max(initial=0.0)),
        float(local.v.max(initial=0.0)) / local.x_size,
        relative_residual(residual, *seen, own_share),
        plan.predicted / f_size,
        plan.curved / f_size,
        largest(step.d) / local.x_size,
        noise_factor * noise / (largest(sizes.steepest) or 1.0),
        rounded / f_size,
        relative_residual(residual, *seen, 1.0),
    )
    worst = float(violations.max(initial=0.0))
    return Iterate(point, y, step.z, measure, worst, enough, sizes, state.iteration, state.trials)


@compiled
def reason(iterate: Iterate, state: State, tolerances: Tolerances, local: Local, step: Step) -> Status | None:
    """The reason to stop here that the point itself gives, if there is one."""
    measure = iterate.measure
    if converged(measure, tolerances):
        # Next to a degenerate point huge multipliers can cancel any gradient: go there and look.
        trusted = largest(step.y) <= HUGE_MULTIPLIER * max(state.sizes.unit, local.g_size)
        if trusted or measure.step <= TINY_STEP:
            return Status.CONVERGED
    if measure.violation > ALMOST_FEASIBLE:
        return None
    if iterate.point.f < -UNBOUNDED_FALL * max(1.0, abs(state.f_start)):
        return Status.UNBOUNDED
    if state.stalled >= STALLED_ITERATIONS:
        return Status.ATTAINED if attained(measure, tolerances) else Status.NO_PROGRESS
    return None
