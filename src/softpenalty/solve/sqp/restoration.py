"""The least violation nearby, sought where an attempt is stuck with rows that do not hold.

The objective is left out: penalty QPs lower Σ violation/unit, with units that stay what they were, so that
all points are compared by the same sum. Either that leads to where the rows hold, and the attempt goes on, or
to a point that nothing nearby is violated less than: the certificate of infeasibility.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...types import Array, Mask
from ..norms import largest
from ..status import Status
from ..tolerances import feasible
from .curvature.secant import SecantCurvature
from .infeasibility import conflict, less_violated
from .model import Model
from .points import Point, steps_to, total_broken
from .state import Local, linearize, rank, record, row_of
from .subproblem.qp import stepped, violation_qp

if TYPE_CHECKING:
    from .loop import Attempt

__all__ = ["restore"]

ITERATIONS = 50  # most need fewer than ten
STIFFER = 30.0  # factor on the fresh matrix after a step that failed
MAX_FAILURES = 3  # of them, one after the other
LOOKS = 3  # times another place is looked for before a certificate is believed
ARMIJO, SHRINK, SHORTEST = 1e-4, 0.4, 1e-6  # share of the predicted fall that must come true; step lengths


def restore(attempt: Attempt) -> tuple[Status | None, tuple[Mask, Mask] | None]:
    """Lower the violation from the attempt's best point on; the attempt is left at the last one.

    Returns
    -------
    status : None where the rows hold, so that the attempt can go on; infeasible with a certificate; else why
        it ended
    certificate : rows (m,) and bounds (n,) in conflict
    """
    model, state, subproblem = attempt.model, attempt.state, attempt.subproblem
    point = state.point if attempt.best is None else attempt.best.point
    curvature = SecantCurvature(model.n, model.m)
    unit, scale = point.length, 1.0 / max(1.0, largest(point.x))
    B, failures, looks = curvature.begin(point, scale), 0, 0
    for _ in range(ITERATIONS):
        state.point = point
        state.iteration += 1
        iterate = attempt.blank()
        attempt.watch.keep(iterate, rank(iterate, attempt.tolerances.feasibility))
        if feasible(iterate.measure, attempt.tolerances):
            return None, None
        status = attempt.watch.see(model.expand(point.x), row_of(iterate, model.sign, record))
        if status is not None:
            return status, None
        weights = point.length / unit
        certificate = conflict(model, point, subproblem, weights)
        if certificate is not None:
            looks += 1
            elsewhere = less_violated(model, point, unit, looks) if looks <= LOOKS else None
            if elsewhere is None:
                return Status.INFEASIBLE, certificate
            point, B = elsewhere, curvature.begin(elsewhere, scale)
            continue
        local = linearize(point, model.floor)
        qp = violation_qp(local.a, local.b, *steps_to(model.lower, model.upper, point.x))
        qp.B = B
        solution = subproblem.solve_elastic(qp, weights)
        new = None if solution is None else _search(model, point, solution.d, local, unit)
        if solution is None or new is None:
            failures += 1
            if failures > MAX_FAILURES:
                break
            B = curvature.begin(point, scale * STIFFER**failures)
            continue
        corner = stepped(solution, model.equality, False).corner
        B = curvature.move(_alone(point), _alone(new), solution.y / point.length, corner)
        point, failures = new, 0
    return Status.NO_PROGRESS, None


def _alone(point: Point) -> Point:
    """The point without the objective."""
    return Point(point.x, 0.0, point.r, np.zeros_like(point.x), point.A, point.length)


def _search(model: Model, point: Point, d: Array, local: Local, unit: Array) -> Point | None:
    """A point along ``d`` (n,) with its derivatives where Σ violation/unit is less, None if there is none."""
    left = model.violations(local.b + local.a @ d)
    fall = float((point.length / unit) @ (local.v - left))
    start, t = total_broken(point.r, model.floor, unit), 1.0
    while fall > 0.0 and t > SHORTEST:
        new = model.at(model.moved(point.x, d, t))
        lower = total_broken(new.r, model.floor, unit) <= start - ARMIJO * t * fall
        if not math.isnan(new.f) and lower and model.differentiate(new):
            return new
        t *= SHRINK
    return None
