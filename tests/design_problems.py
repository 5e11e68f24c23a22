"""Five design problems of mechanical and process engineering, as a user writes them: values and limits only.

Each has one well known best design. The objective and the rows are given without derivatives; all sizes are
continuous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
from scipy.optimize import NonlinearConstraint

from softpenalty import Constraint

Array = np.ndarray
FEASIBLE = 1e-6  # violation, relative to max(1, |limit|)
NEAR = 1e-4  # excess of the objective over the best, relative
STATIONARY = 1e-3  # see `Design.stationarity`
ACTIVE = (
    1e-5  # distance to a bound, in widths of the bounds, or a row's distance to its limit in the same unit
)


@dataclass(frozen=True)
class Design:
    """Minimize `fun` with low ≤ rows(x) ≤ high and x within `bounds` (n, 2)."""

    name: str
    fun: Callable[[Array], float]
    rows: Callable[[Array], Array]
    low: Array
    high: Array
    bounds: Array
    solution: Array
    best: float

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `minimize`, without the start."""
        if np.isinf(self.low).all():
            constraint: Any = Constraint(self.rows, "<", self.high, name=self.name)
        else:
            constraint = NonlinearConstraint(self.rows, self.low, self.high)
        return {"fun": self.fun, "bounds": list(map(tuple, self.bounds)), "constraints": constraint}

    def start(self, seed: int) -> Array:
        """A random point within the bounds."""
        return np.random.default_rng(seed).uniform(*self.bounds.T)

    def violation(self, x: Array) -> float:
        """Largest violation of a row or a bound, relative to max(1, |limit|)."""
        values, low, high = np.append(self.rows(x), x), *self._limits()
        excess = [(low - values) / _size(low), (values - high) / _size(high)]
        return float(np.max(excess, initial=0.0))

    def solved(self, x: Array) -> bool:
        """Whether x is the best design."""
        return self.violation(x) <= FEASIBLE and self.fun(x) <= self.best + NEAR * abs(self.best)

    def stationarity(self, x: Array) -> float:
        """Least residual of the gradient that multipliers of the right sign leave, relative to the gradient.

        Variables are measured in widths of their bounds. Derivatives are central differences.
        """
        lower, upper = self.bounds.T
        width = upper - lower

        def scaled(function: Callable[[Array], Any], inner: Array) -> Array:
            columns = []
            for j in range(x.size):
                h = 1e-6 * width * (np.arange(x.size) == j)
                forward, backward = np.minimum(inner + h, upper), np.maximum(inner - h, lower)
                step = (forward - backward)[j] / width[j]
                columns.append((np.asarray(function(forward)) - np.asarray(function(backward))) / step)
            return np.array(columns).T

        gradient, J = scaled(self.fun, x), scaled(self.rows, x)
        values, eye = self.rows(x), np.eye(x.size)
        length = np.linalg.norm(J, axis=1)
        directions = np.vstack(
            [
                J[self.high - values <= ACTIVE * length],
                -J[values - self.low <= ACTIVE * length],
                eye[upper - x <= ACTIVE * width],
                -eye[x - lower <= ACTIVE * width],
            ]
        )
        norms = np.linalg.norm(directions, axis=1)
        if not len(norms):
            return 1.0
        residual = scipy.optimize.nnls((directions / norms[:, None]).T, -gradient)[1]
        return float(residual / np.linalg.norm(gradient))

    def _limits(self) -> tuple[Array, Array]:
        lower, upper = self.bounds.T
        return np.append(self.low, lower), np.append(self.high, upper)


def _size(limit: Array) -> Array:
    return np.where(np.isfinite(limit), np.maximum(1.0, np.abs(limit)), 1.0)


def _upper(*limits: float) -> dict[str, Array]:
    return {"low": np.full(len(limits), -np.inf), "high": np.array(limits)}


def _beam_rows(x: Array) -> Array:
    """Shear stress, bending stress, weld against bar, cost of the bar, end deflection, buckling load."""
    h, length, t, b = x
    load, arm, young, shear = 6000.0, 14.0, 30e6, 12e6
    moment = load * (arm + length / 2)
    radius = np.hypot(length / 2, (h + t) / 2)
    polar = 2 * np.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    primary, secondary = load / (np.sqrt(2) * h * length), moment * radius / polar
    stress = np.sqrt(primary**2 + primary * secondary * length / radius + secondary**2)
    slender = 1 - t / (2 * arm) * np.sqrt(young / (4 * shear))
    buckling = 4.013 * young * t * b**3 / 6 / arm**2 * slender
    return np.array(
        [
            stress,
            6 * load * arm / (b * t**2),
            h - b,
            0.10471 * h**2 + 0.04811 * t * b * (14 + length),
            4 * load * arm**3 / (young * t**3 * b),
            load - buckling,
        ]
    )


WELDED_BEAM = Design(
    "welded beam",
    fun=lambda x: 1.10471 * x[0] ** 2 * x[1] + 0.04811 * x[2] * x[3] * (14 + x[1]),
    rows=_beam_rows,
    **_upper(13600.0, 30000.0, 0.0, 5.0, 0.25, 0.0),
    bounds=np.array([(0.125, 2.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0)]),
    solution=np.array([0.20572964, 3.47048867, 9.03662391, 0.20572964]),
    best=1.72485231,
)


def _vessel_rows(x: Array) -> Array:
    """Shell and head thick enough for the radius, at least the volume."""
    shell, head, radius, length = x
    volume = np.pi * radius**2 * length + 4 / 3 * np.pi * radius**3
    return np.array([0.0193 * radius - shell, 0.00954 * radius - head, -volume])


PRESSURE_VESSEL = Design(
    "pressure vessel",
    fun=lambda x: (
        0.6224 * x[0] * x[2] * x[3]
        + 1.7781 * x[1] * x[2] ** 2
        + 3.1661 * x[0] ** 2 * x[3]
        + 19.84 * x[0] ** 2 * x[2]
    ),
    rows=_vessel_rows,
    **_upper(0.0, 0.0, -1_296_000.0),
    bounds=np.array([(0.0625, 6.1875), (0.0625, 6.1875), (10.0, 200.0), (10.0, 200.0)]),
    solution=np.array([0.77816864, 0.38464916, 40.3196187, 200.0]),
    best=5885.33277,
)


def _spring_rows(x: Array) -> Array:
    """Deflection, shear stress, surge frequency, outer diameter."""
    d, D, N = x
    return np.array(
        [
            1 - D**3 * N / (71785 * d**4),
            (4 * D**2 - d * D) / (12566 * (D * d**3 - d**4)) + 1 / (5108 * d**2) - 1,
            1 - 140.45 * d / (D**2 * N),
            (d + D) / 1.5 - 1,
        ]
    )


TENSION_SPRING = Design(
    "tension spring",
    fun=lambda x: (x[2] + 2) * x[1] * x[0] ** 2,
    rows=_spring_rows,
    **_upper(0.0, 0.0, 0.0, 0.0),
    bounds=np.array([(0.05, 2.0), (0.25, 1.3), (2.0, 15.0)]),
    solution=np.array([0.05168906, 0.35671773, 11.2889659]),
    best=0.0126652328,
)


def _reducer_rows(x: Array) -> Array:
    """Stresses and deflections of teeth and shafts, proportions; each ≤ 1."""
    a, b, c, d, e, f, g = x  # face width, module, teeth, lengths and diameters of the shafts
    return np.array(
        [
            27 / (a * b**2 * c),
            397.5 / (a * b**2 * c**2),
            1.93 * d**3 / (b * c * f**4),
            1.93 * e**3 / (b * c * g**4),
            np.sqrt((745 * d / (b * c)) ** 2 + 16.9e6) / (110 * f**3),
            np.sqrt((745 * e / (b * c)) ** 2 + 157.5e6) / (85 * g**3),
            b * c / 40,
            5 * b / a,
            a / (12 * b),
            (1.5 * f + 1.9) / d,
            (1.1 * g + 1.9) / e,
        ]
    )


def _reducer_weight(x: Array) -> float:
    a, b, c, d, e, f, g = x
    gears = 0.7854 * a * b**2 * (3.3333 * c**2 + 14.9334 * c - 43.0934) - 1.508 * a * (f**2 + g**2)
    return gears + 7.4777 * (f**3 + g**3) + 0.7854 * (d * f**2 + e * g**2)


SPEED_REDUCER = Design(
    "speed reducer",
    fun=_reducer_weight,
    rows=_reducer_rows,
    **_upper(*[1.0] * 11),
    bounds=np.array([(2.6, 3.6), (0.7, 0.8), (17, 28), (7.3, 8.3), (7.3, 8.3), (2.9, 3.9), (5.0, 5.5)]),
    solution=np.array([3.5, 0.7, 17.0, 7.3, 7.71531991, 3.35021467, 5.28665446]),
    best=2994.47107,
)


def _himmelblau_rows(x: Array) -> Array:
    a, b, c, d, e = x
    return np.array(
        [
            85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e,
            80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c**2,
            9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d,
        ]
    )


HIMMELBLAU = Design(
    "Himmelblau",
    fun=lambda x: 5.3578547 * x[2] ** 2 + 0.8356891 * x[0] * x[4] + 37.293239 * x[0] - 40792.141,
    rows=_himmelblau_rows,
    low=np.array([0.0, 90.0, 20.0]),
    high=np.array([92.0, 110.0, 25.0]),
    bounds=np.array([(78, 102), (33, 45), (27, 45), (27, 45), (27, 45)], dtype=float),
    solution=np.array([78.0, 33.0, 29.9952560, 45.0, 36.7758129]),
    best=-30665.5387,
)

DESIGNS = (WELDED_BEAM, PRESSURE_VESSEL, TENSION_SPRING, SPEED_REDUCER, HIMMELBLAU)
