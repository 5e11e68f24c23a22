"""The problem as the algorithms see it: free variables, canonical rows, each point evaluated once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...problem.canonical import Rows
from ...problem.evaluation import Evaluation
from ...types import Array
from ..norms import extremes, largest
from ..start import inside
from .points import Point, Points, broken_rows
from .scaling import variable_units

__all__ = ["Model"]

FORWARD_STEP = float(np.sqrt(np.finfo(float).eps))  # of forward differences, relative to the variable


class Model(Points):
    """The user's problem in its free variables, each in a unit of its own.

    Variables with equal bounds keep their value and never reach an algorithm.

    Parameters
    ----------
    evaluation : Evaluation
        The user's functions of all variables.
    rows : Rows
        Which of their values are compared with what.
    lower, upper : (n_all,) bounds, which no point violates
    x0 : (n_all,) start
    """

    evaluation: Evaluation

    def __init__(self, evaluation: Evaluation, rows: Rows, lower: Array, upper: Array, x0: Array) -> None:
        self.evaluation = evaluation
        self._rows = rows
        self.full = inside(x0, lower, upper)
        self.free = (lower < upper).nonzero()[0]
        self.places = None if self.free.size == x0.size else self.free
        self._lower, self._upper = lower, upper
        self.equality = rows.equality
        self.target = rows.target
        self.n, self.m = self.free.size, rows.equality.size
        self.floor, self.sign = rows.floor, rows.sign
        in_order = rows.source.tolist() == list(range(self.m))
        self.source = None if in_order else rows.source
        self.least_violated, self.least, self.pending = None, np.inf, None
        self.typical = 1.0
        self.start_sizes = np.zeros(self.n)  # what each variable's size is likely to be
        self._measure_in_units(np.ones(self.n), False)
        self._start_point: Point | None = self.at(self.start)
        if self.n and self.differentiate(self._start_point):
            of_start = self._start_point.g, self._start_point.A, self.start
            units, typical, sizes = variable_units(*of_start, self.lower, self.upper)
            changed = extremes(units) != (1.0, 1.0)
            self.start_sizes = sizes / units if changed else sizes
            if not evaluation.functions.all_given and extremes(typical)[0] < 1.0:  # for differences alone
                self.typical = np.minimum(typical, 1.0)
                everywhere = np.ones(x0.size)
                everywhere[self.free] = self.typical
                evaluation.typical = everywhere
            if changed:
                self._measure_in_units(units, True)
                self.least_violated, self.least = None, np.inf  # x meant something else
                self._start_point = None

    def _measure_in_units(self, units: Array, scaled: bool) -> None:
        """Let x (n,) from now on mean the free variables divided by ``units``, powers of two, or all 1."""
        self.units, self.scaled = units, scaled
        lower, upper, start = self._lower, self._upper, self.full
        if self.places is not None:
            lower, upper, start = lower[self.free], upper[self.free], start[self.free]
        if scaled:
            lower, upper, start = lower / units, upper / units, start / units
        self.lower, self.upper, self.start = lower, upper, start
        self.bounded = extremes(lower)[1] > -np.inf or extremes(upper)[0] < np.inf

    @property
    def target_size(self) -> Array:
        """(m,) what violations are relative to."""
        return np.maximum(1.0, np.abs(self.target))

    def at_start(self) -> Point:
        """The start with its derivatives."""
        if self._start_point is None:
            self._start_point = self.at(self.start)
            self.differentiate(self._start_point)
        return self._start_point

    def expand_dual(self, z: Array) -> Array:
        """Derivatives (n,) by the free variables as derivatives by all variables, 0 for the fixed ones."""
        if self.places is None:
            return z / self.units if self.scaled else z
        full = np.zeros(self.full.size)
        full[self.free] = z / self.units
        return full

    def truncated(self, point: Point, B: Any) -> float:
        """What forward differences may leave out of the gradient, by the curvature of B; 0 without them."""
        if not self.evaluation.forward or not isinstance(B, np.ndarray):
            return 0.0
        steps = FORWARD_STEP * np.maximum(self.typical, np.abs(point.x * self.units)) / self.units
        return 0.5 * largest(B.diagonal() * steps)

    def refine(self, point: Point) -> bool:
        """Replace the derivatives at ``point`` by better differences; False where there are none."""
        return self.evaluation.refine(self.expand(point.x)) and self.differentiate(point)

    def violations(self, r: Array) -> Array:
        """How far each row is broken, (m,) ≥ 0."""
        return broken_rows(r, self.floor)

    def hessian(self, point: Point, y: Array) -> Array | None:
        """Exact Hessian (n, n) of the Lagrangian with row multipliers ``y``; None when not finite."""
        values = self.evaluation.values(self.expand(point.x))[1]
        weights = np.zeros(values.size)
        np.add.at(weights, self._rows.source, self.sign * y)
        given = self.evaluation.hessian(self.expand(point.x), weights)
        H: Array | None = given.toarray() if hasattr(given, "toarray") else given
        if H is None or not np.isfinite(H).all():
            return None
        H = H if self.places is None else H[np.ix_(self.free, self.free)]
        return H * self.units * self.units[:, None] if self.scaled else H
