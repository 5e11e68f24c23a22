"""What an attempt does when it cannot go on: a fresh matrix, better differences, another place.

Each function changes the attempt's state and says whether there is any point in going on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..status import Status
from .infeasibility import less_violated
from .points import Point
from .state import ALMOST_FEASIBLE

if TYPE_CHECKING:
    from .loop import Attempt

__all__ = ["TRY_AGAIN", "go_on_from", "lower_elastic_weight", "restart", "revive", "stiffen"]

TRY_AGAIN = (Status.NO_PROGRESS, Status.INFEASIBLE)
STIFFER = 30.0  # factor on the restarted matrix at each failure: a shorter, more feasible step
MAX_FAILURES = 3  # restarts without one good step in between
MAX_RESTARTS = 5  # restarts because of numerical trouble
MUCH_HEAVIER = 100.0  # than its multipliers: an elastic weight that a restart lowers
LOOKS = 3  # times an attempt looks for a less violated point before it says "infeasible"


def restart(attempt: Attempt) -> bool:
    """Begin with a fresh matrix; False when that was tried too often."""
    state = attempt.state
    state.restarts += 1
    state.trials = 0
    attempt.begin()
    return state.restarts <= MAX_RESTARTS


def stiffen(attempt: Attempt) -> bool:
    """Begin with a fresh matrix, the stiffer the more often it failed; False when it is hopeless."""
    state = attempt.state
    attempt.begin(STIFFER**state.failures)
    state.failures += 1
    state.short_steps = 0
    return state.failures <= MAX_FAILURES


def lower_elastic_weight(attempt: Attempt, g_size: float, y_size: float) -> None:
    """Limit the weight of the elastic rows to what gradient and multipliers call for."""
    enough = max(attempt.strategy.nu * g_size, MUCH_HEAVIER * y_size)
    attempt.subproblem.nu = min(attempt.subproblem.nu, enough)


def revive(attempt: Attempt, status: Status) -> bool:
    """Whether better differences, or a less violated point, let a search that is stuck go on."""
    state = attempt.state
    if status in (Status.NO_PROGRESS, Status.ATTAINED) and attempt.model.refine(state.point):
        state.failures = state.restarts = state.stalled = 0
        return True
    return status in TRY_AGAIN and look_elsewhere(attempt, status)


def look_elsewhere(attempt: Attempt, status: Status) -> bool:
    """Go on from a point that violates the rows less, if the search is stuck where they do not hold."""
    state, best = attempt.state, attempt.best
    if best is None or state.looks >= LOOKS:
        return False
    state.looks += 1
    found: Point | None = best.point
    stiffness = STIFFER**state.looks  # so that it does not take the same way again
    if best.measure.violation > ALMOST_FEASIBLE:
        found, stiffness = less_violated(attempt.model, best.point, state.unit, state.looks), 1.0
    elif status is not Status.INFEASIBLE:  # stuck, but where the rows hold
        return False
    if found is None:
        return False
    go_on_from(attempt, found, stiffness)
    return True


def go_on_from(attempt: Attempt, point: Point, stiffness: float = 1.0) -> None:
    """Begin anew at another point, whose derivatives are known."""
    state = attempt.state
    state.point = point
    state.unit = np.maximum(state.unit, point.length)
    state.failures = state.restarts = state.short_steps = state.trials = 0
    state.stalled = state.stuck = state.slow = 0
    state.lowest, state.least, state.reaches = np.inf, np.inf, ()
    attempt.begin(stiffness)
