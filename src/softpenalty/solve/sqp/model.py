"""The problem as the algorithms see it: free variables, canonical rows, each point evaluated once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ...core import compiled
from ...types import Array, Indices, Mask
from ..norms import all_finite, extremes, largest, squares_finite
from .scaling import variable_units

__all__ = ["EvaluationLike", "Model", "Point", "RowsLike", "broken_rows", "total_broken", "worst_broken"]

ROUNDED = 1e-13  # share of a step that is rounding
SUBPROBLEM_ACCURACY = 1e-10  # of one component of a step, relative to the largest
NOTHING = np.empty(0)  # what is not known yet
FORWARD_STEP = float(np.sqrt(np.finfo(float).eps))  # of forward differences, relative to the variable
SHORTEST_ROW = 1e-150  # a row whose gradient is shorter counts as having none


class EvaluationLike(Protocol):
    """What the algorithms ask of the layer below."""

    typical: Array | float

    def values(self, x: Array) -> tuple[float, Array]: ...
    def derivatives(self, x: Array) -> tuple[Array, Any]: ...
    def hessian(self, x: Array, weights: Array) -> Any: ...
    def refine(self, x: Array) -> bool: ...
    def noise(self, x: Array) -> Array | None: ...
    @property
    def forward(self) -> bool: ...
    @property
    def spacing(self) -> Array | float: ...


class RowsLike(Protocol):
    """Canonical rows ``sign * (c[source] - target)``, to be ≤ 0 or, where ``equality``, = 0."""

    @property
    def source(self) -> Indices: ...
    @property
    def sign(self) -> Array: ...
    @property
    def target(self) -> Array: ...
    @property
    def equality(self) -> Mask: ...
    @property
    def floor(self) -> Array: ...


@compiled
@dataclass(slots=True)
class Point:
    """One evaluated point; derivatives are filled in once it is accepted.

    Attributes
    ----------
    x : (n,) free variables
    f : objective, nan where the objective or a row is not finite
    r : (m,) row residuals, ≤ 0 (inequality) or = 0 (equality) when satisfied
    g : (n,) gradient of the objective
    A : (m, n) Jacobian of the rows
    length : (m,) length of each row of A, 1 where it is zero
    values, gradient, jacobian : (k,), (n_all,) and (k, n_all), as the user's functions gave them
    g_noise, A_noise : what rounding leaves in differences of the objective and of each row (m,)
    """

    x: Array
    f: float
    r: Array
    g: Array = field(default_factory=lambda: NOTHING)
    A: Array = field(default_factory=lambda: NOTHING)
    length: Array = field(default_factory=lambda: NOTHING)
    values: Array = field(default_factory=lambda: NOTHING)
    gradient: Array = field(default_factory=lambda: NOTHING)
    jacobian: Any = None
    g_noise: float = 0.0
    A_noise: Array = field(default_factory=lambda: NOTHING)


class Model:
    """The user's problem in its free variables, each in a unit of its own.

    Variables with equal bounds keep their value and never reach an algorithm.

    Parameters
    ----------
    evaluation : EvaluationLike
        The user's functions of all variables.
    rows : RowsLike
        Which of their values are compared with what.
    lower, upper : (n_all,) bounds, which no point violates
    x0 : (n_all,) start
    """

    def __init__(
        self, evaluation: EvaluationLike, rows: RowsLike, lower: Array, upper: Array, x0: Array
    ) -> None:
        self._evaluation = evaluation
        self._rows = rows
        self._full = np.minimum(np.maximum(x0, lower), upper)
        self.free = (lower < upper).nonzero()[0]
        self._all_free = self.free.size == x0.size
        self._lower, self._upper = lower, upper
        self.equality = rows.equality
        self.target = rows.target
        self.n, self.m = self.free.size, rows.equality.size
        self.floor, self.sign = rows.floor, rows.sign
        in_order = rows.source.tolist() == list(range(self.m))
        self._source = None if in_order else rows.source
        self.least_violated: Point | None = None  # of all points evaluated, as long as none is feasible
        self._least = np.inf
        self.pending: Point | None = None  # whose derivatives are being asked for
        self._typical: Array | float = 1.0
        self.start_sizes = np.zeros(self.n)  # what each variable's size is likely to be
        self._measure_in_units(np.ones(self.n), False)
        self._start_point: Point | None = self.at(self.start)
        if self.n and self.differentiate(self._start_point):
            of_start = self._start_point.g, self._start_point.A, self.start
            units, typical, sizes = variable_units(*of_start, self.lower, self.upper)
            changed = extremes(units) != (1.0, 1.0)
            self.start_sizes = sizes / units if changed else sizes
            if extremes(typical)[0] < 1.0:
                self._typical = np.minimum(typical, 1.0)
                everywhere = np.ones(x0.size)
                everywhere[self.free] = self._typical
                evaluation.typical = everywhere
            if changed:
                self._measure_in_units(units, True)
                self.least_violated, self._least = None, np.inf  # x meant something else
                self._start_point = None

    def _measure_in_units(self, units: Array, scaled: bool) -> None:
        """Let x (n,) from now on mean the free variables divided by ``units``, powers of two, or all 1."""
        self.units, self._scaled = units, scaled
        lower, upper, start = self._lower, self._upper, self._full
        if not self._all_free:
            lower, upper, start = lower[self.free], upper[self.free], start[self.free]
        if scaled:
            lower, upper, start = lower / units, upper / units, start / units
        self.lower, self.upper, self.start = lower, upper, start
        self._bounded = extremes(lower)[1] > -np.inf or extremes(upper)[0] < np.inf

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

    def expand(self, x: Array) -> Array:
        """All variables (n_all,) in the user's units, the fixed ones included."""
        if self._scaled:
            x = x * self.units
        if self._all_free:
            return x
        full = self._full.copy()
        full[self.free] = x
        return full

    def reduced(self, g: Array) -> Array:
        """Derivatives (n_all,) by all variables as derivatives (n,) by the free ones in their units."""
        own = g if self._all_free else g[self.free]
        return own * self.units if self._scaled else own

    def expand_dual(self, z: Array) -> Array:
        """Derivatives (n,) by the free variables as derivatives by all variables, 0 for the fixed ones."""
        if self._all_free:
            return z / self.units if self._scaled else z
        full = np.zeros(self._full.size)
        full[self.free] = z / self.units
        return full

    def at(self, x: Array) -> Point:
        """Values at ``x`` (n,), which is inside the bounds."""
        f, values = self._evaluation.values(self.expand(x))
        r, defined = residuals(values, self._source, self.sign, self.target)
        if not defined or not math.isfinite(f):
            f = np.nan
        point = Point(x, f, r, NOTHING, NOTHING, NOTHING, values)
        if self._least > 0.0:
            self._compare(point)
        return point

    def _compare(self, point: Point) -> None:
        """Keep the point if it is the least violated one so far."""
        worst = self.worst(point)
        if worst < self._least:
            self._least, self.least_violated = worst, point

    def worst(self, point: Point) -> float:
        """Largest violation relative to max(1, |target|), infinite where the point is not defined."""
        return np.inf if math.isnan(point.f) else worst_broken(point.r, self.floor, self.target)

    def moved(self, x: Array, d: Array, t: float) -> Array:
        """``x + t·d``, exactly at a bound where only rounding of the step keeps it off."""
        bounds = self.lower, self.upper, self._bounded
        return shifted(x, d, t, *bounds, SUBPROBLEM_ACCURACY, ROUNDED)

    def differentiate(self, point: Point) -> bool:
        """Fill in the derivatives; False, and nothing changed, when one is not finite."""
        self.pending = point
        x = self.expand(point.x)
        gradient, jacobian = self._evaluation.derivatives(x)
        self.pending = None
        J = jacobian.toarray() if hasattr(jacobian, "toarray") else jacobian
        free = None if self._all_free else self.free
        A, lengths, defined = row_gradients(J, self._source, self.sign, free, self.units, SHORTEST_ROW)
        g = self.reduced(gradient)
        if not (defined and squares_finite(g)):
            return False
        point.g, point.A, point.gradient, point.jacobian = g, A, gradient, jacobian
        point.length = lengths
        noise = self._evaluation.noise(x)
        if noise is not None:
            # It is the error for a variable of size 1; the step for others is relative to their size.
            sizes = np.maximum(self._typical, np.abs(point.x * self.units))
            noise = float((self.units / sizes).max(initial=0.0)) * noise
            point.g_noise, point.A_noise = float(noise[0]), noise[1:][self._rows.source]
        return True

    def truncated(self, point: Point, B: Any) -> float:
        """What forward differences may leave out of the gradient, by the curvature of B; 0 without them."""
        if not self._evaluation.forward or not isinstance(B, np.ndarray):
            return 0.0
        steps = FORWARD_STEP * np.maximum(self._typical, np.abs(point.x * self.units)) / self.units
        return 0.5 * largest(B.diagonal() * steps)

    @property
    def spacing(self) -> float:
        """Relative spacing of the objective's values."""
        spacing = self._evaluation.spacing
        return spacing if isinstance(spacing, float) else float(spacing[0])

    @property
    def row_spacing(self) -> float | Array:
        """Relative spacing of the values of objective and rows, one or (1 + m,)."""
        spacing = self._evaluation.spacing
        if isinstance(spacing, float):
            return spacing
        return np.concatenate([spacing[:1], spacing[1:][self._rows.source]])

    def refine(self, point: Point) -> bool:
        """Replace the derivatives at ``point`` by better differences; False where there are none."""
        return self._evaluation.refine(self.expand(point.x)) and self.differentiate(point)

    def violations(self, r: Array) -> Array:
        """How far each row is broken, (m,) ≥ 0."""
        return broken_rows(r, self.floor)

    def hessian(self, point: Point, y: Array) -> Array | None:
        """Exact Hessian (n, n) of the Lagrangian with row multipliers ``y``; None when not finite."""
        values = self._evaluation.values(self.expand(point.x))[1]
        weights = np.zeros(values.size)
        np.add.at(weights, self._rows.source, self.sign * y)
        given = self._evaluation.hessian(self.expand(point.x), weights)
        H: Array | None = given.toarray() if hasattr(given, "toarray") else given
        if H is None or not np.isfinite(H).all():
            return None
        H = H if self._all_free else H[np.ix_(self.free, self.free)]
        return H * self.units * self.units[:, None] if self._scaled else H


@compiled
def residuals(values: Array, source: Indices | None, sign: Array, target: Array) -> tuple[Array, bool]:
    """sign·(value − target) of each row (m,), and whether all are finite.

    ``source`` (m,) says which value a row compares; without it, they are compared in their order, and values
    that no row compares with anything may follow.
    """
    chosen = values[: target.size] if source is None else values[source]
    r = sign * (chosen - target)
    return r, all_finite(r)


@compiled
def row_gradients(
    J: Array, source: Indices | None, sign: Array, free: Indices | None, units: Array, shortest: float
) -> tuple[Array, Array, bool]:
    """Jacobian (m, n) of the rows, their lengths (m,), 1 where below ``shortest``; whether all are finite."""
    A = J[: sign.size] if source is None else J[source]
    A = (A if free is None else A[:, free]) * sign[:, None] * units
    lengths = np.sqrt(np.vecdot(A, A))
    return A, np.where(lengths < shortest, 1.0, lengths), all_finite(lengths)


@compiled
def shifted(
    x: Array, d: Array, t: float, lower: Array, upper: Array, bounded: bool, held: float, rounded: float
) -> Array:
    """``x + t·d`` (n,), exactly at a bound that it misses by the subproblem's accuracy or rounding only."""
    step = t * d
    new: Array = x + step
    if not bounded:
        return new
    # Off a bound, or back to it, by no more than the subproblem's own accuracy.
    size = np.absolute(step)
    at_bound = (x == lower) | (x == upper)
    rounding = np.where(at_bound, held * largest(size), rounded * size)
    new = np.where(new - lower <= rounding, lower, new)
    return np.where(upper - new <= rounding, upper, new)


@compiled
def broken_rows(r: Array, floor: Array) -> Array:
    """How far each row is broken, (m,): max(r, floor·r), floor being −1 for equalities, else 0."""
    violations: Array = np.maximum(r, floor * r)
    return violations


@compiled
def total_broken(r: Array, floor: Array, unit: Array) -> float:
    """Σ of the violations, each divided by its ``unit`` (m,)."""
    return float(np.add.reduce(np.maximum(r, floor * r) / unit))


@compiled
def worst_broken(r: Array, floor: Array, target: Array) -> float:
    """Largest of the violations, each relative to max(1, |target|)."""
    return largest(np.maximum(r, floor * r) / np.maximum(1.0, np.abs(target)))


@compiled
def steps_to(lower: Array, upper: Array, x: Array) -> tuple[Array, Array]:
    """The steps (n,) from x that end at the bounds."""
    return lower - x, upper - x
