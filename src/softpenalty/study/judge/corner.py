"""Fig. 4's problem: BFGS on three penalized functions in a corner of two planes, at the origin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize

from ...formulas.combinations import COMBINATIONS
from ...formulas.kernels import KERNELS
from ...types import Array
from ..design import published
from ..design.experiments import CONFIGURATIONS

START = np.array([-9.0, -8.0])
OBJECTIVE = np.array([0.2, 0.2])
NORMALS = np.array([[-1.0, 0.0], [1.0, -1.0]]) / np.array([[1.0], [np.sqrt(2.0)]])
SIGMA, ALPHA = 1.0, 0.1


@dataclass(frozen=True)
class Path:
    """One optimization: points (k, 2) from start to end."""

    configuration: str
    points: Array

    @property
    def end(self) -> tuple[float, float]:
        """Last point."""
        return float(self.points[-1, 0]), float(self.points[-1, 1])

    @property
    def iterations(self) -> int:
        """Steps taken."""
        return len(self.points) - 1


@lru_cache(maxsize=1)
def paths() -> tuple[Path, ...]:
    """SciPy's BFGS with the paper's central differences, for the paper's three configurations."""
    return tuple(Path(name, _points(penalized_function(name))) for name in published.PATH_ENDS)


def penalized_function(configuration: str) -> Callable[[Array], Array]:
    """objective + penalty of points (..., 2)."""
    kernel = KERNELS[CONFIGURATIONS[configuration].kernel]
    combination = COMBINATIONS[CONFIGURATIONS[configuration].combination]

    def penalized(point: Array) -> Array:
        errors = np.moveaxis(point @ NORMALS.T, -1, 0)
        total: Array = point @ OBJECTIVE + combination.value(SIGMA * kernel.value(errors, ALPHA))
        return total

    return penalized


def multipliers() -> Array:
    """Multipliers (2,) at the solution, the origin: Bᵀλ = −∇O."""
    found: Array = np.linalg.solve(NORMALS.T, -OBJECTIVE)
    return found


def gradient_size() -> float:
    """Size |∇O| of the objective's gradient."""
    return float(np.linalg.norm(OBJECTIVE))


def _points(function: Callable[[Array], Array]) -> Array:
    """Where each iteration led."""
    width = published.DIFFERENCE_INTERVAL
    points = [START]

    def value(x: Array) -> float:
        return float(function(x))

    def gradient(x: Array) -> Array:
        steps = 0.5 * width * np.eye(x.size)
        difference: Array = (function(x + steps) - function(x - steps)) / width
        return difference

    def keep(xk: Array) -> None:
        points.append(xk.copy())

    minimize(value, START, method="BFGS", jac=gradient, callback=keep)
    return np.array(points)
