"""Points: the user's functions of the free variables, each in a unit of its own, and the rows they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core import compiled
from ...problem.remembered import Remembered
from ...types import Array, Indices
from ..norms import all_finite, largest, squares_finite

__all__ = ["Point", "Points", "broken_rows", "steps_to", "total_broken", "worst_broken"]

ROUNDED = 1e-13  # share of a step that is rounding
SUBPROBLEM_ACCURACY = 1e-10  # of one component of a step, relative to the largest
NOTHING = np.empty(0)  # what is not known yet
SHORTEST_ROW = 1e-150  # a row whose gradient is shorter counts as having none


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


@compiled
class Points:
    """Evaluates points, in the free variables and their units.

    Attributes
    ----------
    evaluation : the user's functions of all variables
    full : (n_all,) where all variables begin: what fixed ones are
    places : (n,) where the free variables stand among all, None where all are free
    units, scaled : (n,) powers of two that x is measured in, and whether one of them is not 1
    lower, upper, bounded : (n,) bounds, which no point violates, and whether there are any
    source : (m,) which value a row compares, None for all in their order
    sign, target, floor : (m,) rows sign·(value − target); −1 for equalities, else 0
    typical : (n,) sizes of the variables, that difference steps are relative to where |x| is less
    least_violated, least : of all points evaluated, as long as none is feasible, and its violation
    pending : whose derivatives are being asked for
    """

    evaluation: Remembered
    full: Array
    places: Indices | None
    units: Array
    scaled: bool
    lower: Array
    upper: Array
    bounded: bool
    source: Indices | None
    sign: Array
    target: Array
    floor: Array
    typical: Array | float
    least_violated: Point | None
    least: float
    pending: Point | None

    def expand(self, x: Array) -> Array:
        """All variables (n_all,) in the user's units, the fixed ones included."""
        if self.scaled:
            x = x * self.units
        if self.places is None:
            return x
        full = self.full.copy()
        full[self.places] = x
        return full

    def at(self, x: Array) -> Point:
        """Values at ``x`` (n,), which is inside the bounds."""
        answer = self.evaluation.at(self.expand(x))
        r, defined = residuals(answer.values, self.source, self.sign, self.target)
        f = answer.objective if defined and math.isfinite(answer.objective) else np.nan
        point = Point(x, f, r, NOTHING, NOTHING, NOTHING, answer.values)
        if self.least > 0.0:
            worst = self.worst(point)
            if worst < self.least:
                self.least, self.least_violated = worst, point
        return point

    def worst(self, point: Point) -> float:
        """Largest violation relative to max(1, |target|), infinite where the point is not defined."""
        return np.inf if math.isnan(point.f) else worst_broken(point.r, self.floor, self.target)

    def moved(self, x: Array, d: Array, t: float) -> Array:
        """``x + t·d``, exactly at a bound where only rounding of the step keeps it off."""
        bounds = self.lower, self.upper, self.bounded
        return shifted(x, d, t, *bounds, SUBPROBLEM_ACCURACY, ROUNDED)

    def differentiate(self, point: Point) -> bool:
        """Fill in the derivatives; False, and nothing changed, when one is not finite."""
        self.pending = point
        answer = self.evaluation.differentiated(self.expand(point.x))
        self.pending = None
        gradient, jacobian = answer.gradient, answer.jacobian
        J = jacobian.toarray() if hasattr(jacobian, "toarray") else jacobian
        A, lengths, defined = row_gradients(J, self.source, self.sign, self.places, self.units, SHORTEST_ROW)
        g = self.reduced(gradient)
        if not (defined and squares_finite(g)):
            return False
        point.g, point.A, point.gradient, point.jacobian = g, A, gradient, jacobian
        point.length = lengths
        if answer.noise is not None:
            self.take_noise(point, answer.noise)
        return True

    def spaced(self) -> float | Array:
        """Relative spacing of the values of objective and rows, one or (1 + m,)."""
        spacing = self.evaluation.spacing
        if isinstance(spacing, float):
            return spacing
        rows = spacing[1 : 1 + self.sign.size] if self.source is None else spacing[1:][self.source]
        return np.append(spacing[0], rows)

    def reduced(self, g: Array) -> Array:
        """Derivatives (n_all,) by all variables as derivatives (n,) by the free ones in their units."""
        own = g if self.places is None else g[self.places]
        return own * self.units if self.scaled else own

    def take_noise(self, point: Point, noise: Array) -> None:
        """Take in what rounding leaves in differences of objective and values (1 + k,)."""
        # It is the error for a variable of size 1; the step for others is relative to their size.
        sizes = np.maximum(self.typical, np.abs(point.x * self.units))
        noise = float((self.units / sizes).max(initial=0.0)) * noise
        rows = noise[1 : 1 + self.sign.size] if self.source is None else noise[1:][self.source]
        point.g_noise, point.A_noise = float(noise[0]), rows


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
