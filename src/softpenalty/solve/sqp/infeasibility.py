"""Whether no nearby point violates the rows less, which ones conflict, and a look at other places first.

The certificate is of first order: at a point where violated rows have no gradient, or nearly none, it holds
without meaning much. So it is believed only after points around have been looked at, too.
"""

from __future__ import annotations

import numpy as np

from ...core import compiled
from ...types import Array, Mask
from ..norms import largest
from .merit import Plan
from .model import Model
from .points import Point, total_broken
from .state import Iterate, Local, State
from .subproblem.qp import violation_qp
from .subproblem.steering import Subproblem

__all__ = ["conflict", "is_stuck", "less_violated"]

BOX = 1e-2  # half width of the region the certificate speaks of, relative to max(1, |x|)
FALL = 1e-4  # a linearized violation that falls by less than this share of the box, or of itself, is stuck
BINDING = 1e-6  # multiplier from which a row takes part in the conflict
PLACES = 12  # other points looked at
NEAREST, FARTHEST = 1e-3, 10.0  # their distances, relative to max(1, |x|), in geometric steps
LESS = 0.999  # share of the violation that counts as less
STUCK_SHARE = 0.99  # a step that leaves this share of the linearized violation calls for a certificate
FAR_STEP = 1e2  # ... and so does one this long, relative to max(1, |x|)
STUCK_ITERATIONS = 3  # with a certificate, one after the other, and the rows are in conflict
STUCK_STEP = 1e-2  # ... or one, if the step stays in the region that the certificate speaks of
SLOW_FALL, SLOW_ITERATIONS = 0.9, 60  # so many in which the violation does not fall to this share


def is_stuck(
    model: Model, state: State, iterate: Iterate, local: Local, plan: Plan, subproblem: Subproblem
) -> bool:
    """Whether no step lowers the violation, by a certificate that has held for some iterations.

    At a single point it may be due to rows that happen to have no gradient there. A step that meets the
    linearized rows far away from here is not believed either. Many iterations that gain next to nothing
    are enough without a certificate: whether there is one is found out where the attempt ends.
    """
    total = total_broken(iterate.point.r, model.floor, state.unit)
    if total < SLOW_FALL * state.least:
        state.least, state.slow = total, 0
    else:
        state.slow += 1
    left, now = linearized_totals(local.b, plan.change, local.v, model.floor)
    if left < STUCK_SHARE * now and iterate.measure.step < FAR_STEP:
        state.stuck = 0
        return state.slow >= SLOW_ITERATIONS
    certified = conflict(model, iterate.point, subproblem) is not None
    state.stuck = state.stuck + 1 if certified else 0
    enough = state.stuck >= STUCK_ITERATIONS or (certified and iterate.measure.step <= STUCK_STEP)
    return enough or state.slow >= SLOW_ITERATIONS


@compiled
def linearized_totals(b: Array, change: Array, v: Array, floor: Array) -> tuple[float, float]:
    """Σ of the violations (m,) that a step leaves in the linearized rows, and of those now."""
    errors = b + change
    return float(np.maximum(errors, floor * errors).sum()), float(v.sum())


def conflict(
    model: Model, point: Point, subproblem: Subproblem, weights: Array | None = None
) -> tuple[Mask, Mask] | None:
    """Rows and bounds that keep the violation from falling nearby, None when it can fall.

    A penalty QP without objective minimizes Σ of the linearized violations of the unit rows, times their
    ``weights`` (m,) if there are any, in a small box. A single row that can move at all falls by the box's
    half width.
    """
    weights = np.ones(model.m) if weights is None else weights
    a, b = point.A / point.length[:, None], point.r / point.length
    box = BOX * max(1.0, largest(point.x))
    lower, upper = np.maximum(model.lower - point.x, -box), np.minimum(model.upper - point.x, box)
    solution = subproblem.solve_elastic(violation_qp(a, b, lower, upper), weights)
    if solution is None:
        return None
    violations = model.violations(b)
    before = float(weights @ violations)
    after = float(weights @ model.violations(b + a @ solution.d))
    lightest = float(weights[violations > 0.0].min(initial=np.inf))
    if before - after > FALL * min(before, lightest * box):
        return None
    binding = BINDING * float(weights.max())
    at_bound = (lower > -box) & (solution.z < -binding) | (upper < box) & (solution.z > binding)
    return np.abs(solution.y) > BINDING * weights, at_bound


def less_violated(model: Model, point: Point, unit: Array, seed: int) -> Point | None:
    """The least violated of some points around ``point``, with its derivatives, if it is violated less.

    Both the largest violation and the sum must be less: where rows conflict, one can be had for the other.

    Parameters
    ----------
    unit : (m,) what the violations are divided by in the sum
    seed : of the random directions
    """

    def total(place: Point) -> float:
        return total_broken(place.r, model.floor, unit)

    random = np.random.default_rng(seed)
    x_size = max(1.0, largest(point.x))
    limit, least, found = LESS * model.worst(point), LESS * total(point), None
    for distance in np.geomspace(NEAREST, FARTHEST, PLACES) * x_size:
        shift = distance * random.uniform(-1.0, 1.0, model.n)
        place = model.at(np.clip(point.x + shift, model.lower, model.upper))
        if model.worst(place) > limit or total(place) >= least:
            continue
        if model.differentiate(place):
            least, found = total(place), place
    return found
