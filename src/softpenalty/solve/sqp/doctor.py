"""Which few constraints make a problem infeasible, and how far each would have to give way.

All of it is read from the problem linearized where it is violated least, so nothing is evaluated: penalty QPs
without objective, in which some rows weigh next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...types import Array, Mask
from ..norms import largest
from .model import Model
from .points import Point
from .subproblem.qp import violation_qp
from .subproblem.steering import Subproblem

__all__ = ["Diagnosis", "diagnose"]

REGION = 10.0  # half width of the box in which the linearization is believed, relative to max(1, |x|)
LIGHT, HEAVY = 1e-4, 1.0  # weights of a row that gives way and of one that does not
MET = 1e-5  # violation of unit rows that counts as none, relative to what the point itself violates


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Rows (m,) that conflict and the bounds (n,) that take part.

    ``relaxation`` (m,): by how much the target of a row must give way, it alone of those that it conflicts
    with, in its own units; NaN for rows outside any conflict and where that would not be enough.
    """

    rows: Mask
    bounds: Mask
    relaxation: Array


def diagnose(model: Model, point: Point, subproblem: Subproblem, rows: Mask, bounds: Mask) -> Diagnosis:
    """Narrow down the conflict between ``rows`` (m,) and ``bounds`` (n,) at ``point``.

    There may be several conflicts that have nothing to do with each other; of the rows of each, none could be
    left out.
    """
    solve = _Linearized(model, point, subproblem)
    groups: list[Mask] = []
    aside = np.zeros(model.m, dtype=bool)  # rows of the conflicts found so far
    while (rows & ~aside).any() and not solve.met(aside):
        groups.append(_smallest(solve, rows & ~aside, aside))
        if not groups[-1].any():
            break
        aside |= groups[-1]
    relaxation = np.full(model.m, np.nan)
    for group in groups:
        for i in np.flatnonzero(group):
            gives_way = (aside & ~group) | (np.arange(model.m) == i)
            left = solve.violations(gives_way)
            if left is not None and float(left[~gives_way].sum()) <= solve.enough:
                relaxation[i] = left[i] * point.length[i]
    return Diagnosis(aside if aside.any() else rows, bounds, relaxation)


def _smallest(solve: _Linearized, rows: Mask, aside: Mask) -> Mask:
    """A part of ``rows`` (m,) that conflicts, none of which can be left out, whatever ``aside`` (m,) do."""
    needed, light = rows.copy(), aside.copy()
    for i in np.flatnonzero(rows):
        light[i] = True
        if solve.met(light):
            light[i] = False
        else:  # the rest conflict without it
            needed[i] = False
    return needed


class _Linearized:
    """Violations of the unit rows that a step in the region cannot avoid."""

    def __init__(self, model: Model, point: Point, subproblem: Subproblem) -> None:
        self.model, self.subproblem = model, subproblem
        a, b = point.A / point.length[:, None], point.r / point.length
        region = REGION * max(1.0, largest(point.x))
        lower = np.maximum(model.lower - point.x, -region)
        upper = np.minimum(model.upper - point.x, region)
        self.qp = violation_qp(a, b, lower, upper)
        self.enough = MET * max(1.0, float(model.violations(b).sum()))

    def violations(self, light: Mask) -> Array | None:
        """What is left of each row (m,) where the rows ``light`` (m,) give way first; None if not known."""
        solution = self.subproblem.solve_elastic(self.qp, np.where(light, LIGHT, HEAVY))
        if solution is None:
            return None
        return self.model.violations(self.qp.b + self.qp.a @ solution.d)

    def met(self, light: Mask) -> bool:
        """Whether all rows but ``light`` (m,) can be met."""
        left = self.violations(light)
        return left is None or float(left[~light].sum()) <= self.enough
