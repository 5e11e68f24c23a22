"""Where an attempt of the dense algorithm stands: numbers and arrays, nothing of the user's functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import compiled
from ...types import Array
from ..norms import largest
from ..status import Status
from ..tolerances import Measure, Sizes, first_sizes
from .curvature.source import Matrix
from .doctor import Diagnosis
from .model import Model
from .points import Point, total_broken

__all__ = [
    "ALMOST_FEASIBLE",
    "FIRST",
    "SECOND",
    "Ending",
    "Iterate",
    "Local",
    "State",
    "Strategy",
    "at_start",
    "linearize",
    "rank",
    "record",
    "row_of",
    "take_in",
    "without_derivatives",
]

FAR = 1e3  # points whose violations exceed this many times those of the start are not accepted
ALMOST_FEASIBLE = 1e-6  # relative violation below which a point counts as feasible while the search goes on


@dataclass(frozen=True, slots=True)
class Strategy:
    """How carefully an attempt begins.

    The matrix is ``stiffness``·|gradient|/max(1, |x|) times the identity; ``weight``·|multiplier| is the
    exact merit's weight; ``nu``·|gradient| that of elastic rows.
    """

    stiffness: float
    weight: float
    nu: float


FIRST = Strategy(stiffness=1.0, weight=2.0, nu=10.0)
SECOND = Strategy(stiffness=4.0, weight=4.0, nu=1e4)


@compiled
@dataclass(slots=True)
class Local:
    """The problem linearized at a point in unit rows: a (m, n), errors b (m,), violations v (m,).

    ``g_size`` and ``x_size`` are |g| and max(1, |x|) there.
    """

    a: Array
    b: Array
    v: Array
    g_size: float
    x_size: float


@compiled
def linearize(point: Point, floor: Array) -> Local:
    """The problem at ``point``, whose derivatives are known; ``floor`` (m,) is −1 for equalities, else 0."""
    a, b = point.A / point.length[:, None], point.r / point.length
    return Local(a, b, np.maximum(b, floor * b), largest(point.g), max(1.0, largest(point.x)))


@compiled
@dataclass(slots=True)
class Iterate:
    """A point with its multipliers (rows (m,), bounds (n,)) and what the stop tests saw there."""

    point: Point
    y: Array
    z: Array
    measure: Measure
    violation: float
    enough: float  # size of the gradient below which differences show nothing
    sizes: Sizes  # what the residual was measured by
    iteration: int
    trials: int = 0  # of the line search that led here


def without_derivatives(point: Point, other: Iterate, target_size: Array, violations: Array) -> Iterate:
    """A point at which only the values are known, with the multipliers of another one."""
    violation = largest(violations / target_size)
    unknown = Measure(violation, violation, np.inf, np.inf, np.inf, np.inf)
    point.gradient = np.full_like(other.point.gradient, np.nan)
    point.g, point.jacobian = np.full(point.x.size, np.nan), other.point.jacobian * np.nan
    return Iterate(point, other.y, other.z, unknown, largest(violations), 0.0, other.sizes, other.iteration)


def rank(iterate: Iterate, feasibility: float) -> tuple[float, float]:
    """The lower, the better: feasible with a lower objective, else less violated."""
    return max(iterate.measure.violation, feasibility), iterate.point.f


@compiled
def row_of(iterate: Iterate, sign: Array, record: Callable[..., dict[str, Any]]) -> tuple[Any, ...]:
    """What ``record`` makes a row of the history of; ``sign`` (m,) gives the multipliers the user's signs."""
    measure = iterate.measure
    numbers = iterate.violation, measure.violation, measure.stationarity, measure.step, iterate.trials
    return iterate.iteration, record, iterate.point.f, *numbers, iterate.y, sign


def record(
    nit: int,
    fun: float,
    maxcv: float,
    violation: float,
    stationarity: float,
    step: float,
    trials: int,
    y: Array,
    sign: Array,
) -> dict[str, Any]:
    """A row of the history as it is shown."""
    return {
        "nit": nit,
        "fun": fun,
        "maxcv": maxcv,
        "violation": violation,
        "stationarity": stationarity,
        "step": step,
        "trials": trials,
        "multipliers": y * sign,
    }


@compiled
@dataclass(slots=True)
class State:
    """What changes from one iteration to the next, apart from the curvature and the last active set.

    Attributes
    ----------
    point : the current point with its derivatives
    B : matrix (n, n) of the next subproblem
    weights : (m,) of the exact merit, in the rows' own units
    unit : (m,) what violations are divided by to compare points with the start
    far : sum of violations in those units beyond which no point is accepted
    f_start, f_unit : objective at the start, and its change so far, at most 1: what "small" is relative to
    sizes : what residuals are measured by
    iteration : counted over all attempts
    trials : points of the last line search
    failures, restarts, short_steps : since something went well: failed searches, restarts, short steps
    stalled, lowest : feasible iterations without a fall below this merit
    stuck, looks : iterations with a certificate that nothing nearby is less violated; looks elsewhere
    slow, least : violated iterations since the sum of violations fell to this by a good share
    reaches : lengths of the last steps
    """

    point: Point
    B: Matrix
    weights: Array
    unit: Array
    far: float
    f_start: float
    sizes: Sizes
    iteration: int
    f_unit: float = 0.0
    trials: int = 0
    failures: int = 0
    restarts: int = 0
    short_steps: int = 0
    stalled: int = 0
    lowest: float = np.inf
    stuck: int = 0
    looks: int = 0
    slow: int = 0
    least: float = np.inf
    reaches: tuple[float, ...] = ()


def at_start(model: Model, iteration: int) -> State:
    """The state at the start of ``model``, without a matrix yet."""
    point = model.at_start()
    far = FAR * max(1.0, total_broken(point.r, model.floor, point.length))
    sizes = first_sizes(point.g, model.start_sizes)
    nothing = np.zeros((0, 0))
    return State(point, nothing, np.zeros(model.m), point.length, far, point.f, sizes, iteration)


@compiled
def take_in(state: State, new: Point, start: Array, remembered: int) -> Point:
    """Make ``new`` the current point, let the sizes follow, and return the point before it.

    ``start`` (n,) is where the search began; the lengths of ``remembered`` steps are kept.
    """
    old, state.point = state.point, new
    state.reaches = (*state.reaches[1 - remembered :], largest(new.x - old.x))
    state.f_unit = max(state.f_unit, min(1.0, abs(new.f - state.f_start)))
    sizes, slopes = state.sizes, np.abs(new.g)
    sizes.unit = max(sizes.unit, min(1.0, float(slopes.max(initial=0.0))))
    sizes.steepest = np.maximum(sizes.steepest, slopes)
    sizes.reach = np.maximum(sizes.reach, np.maximum(np.abs(new.x), np.abs(new.x - start)))
    return old


@dataclass(slots=True)
class Ending:
    """How a solve ended: the iterate to return and, where infeasible, what conflicts there."""

    status: Status
    iterate: Iterate
    iterations: int
    conflict: Diagnosis | None = None
