"""Constrained problems with known answers, shared by the tests of several layers.

The first group are the classics that SciPy tests its own constrained minimizers on, stated here anew; the
second group are the awkward cases a robust solver must get right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, rosen, rosen_der, rosen_hess

from softpenalty import Constraint


@dataclass
class Known:
    """A problem with its solution or at least the optimal value."""

    name: str
    fun: Callable[..., Any]
    x0: Any
    jac: Any = None
    hess: Any = None
    bounds: Any = None
    constraints: Any = ()
    solution: Any = None
    optimum: float | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `minimize`."""
        return {
            "fun": self.fun,
            "x0": self.x0,
            "jac": self.jac,
            "hess": self.hess,
            "bounds": self.bounds,
            "constraints": self.constraints,
        }


def maratos(degrees: float = 60.0) -> Known:
    """Full steps from a feasible point increase both objective and violation (Maratos 1978)."""
    angle = np.deg2rad(degrees)
    return Known(
        "maratos",
        lambda x: 2.0 * (x[0] ** 2 + x[1] ** 2 - 1.0) - x[0],
        [np.cos(angle), np.sin(angle)],
        jac=lambda x: np.array([4.0 * x[0] - 1.0, 4.0 * x[1]]),
        hess=lambda x: 4.0 * np.eye(2),
        constraints=NonlinearConstraint(
            lambda x: x[0] ** 2 + x[1] ** 2,
            1.0,
            1.0,
            jac=lambda x: [[2.0 * x[0], 2.0 * x[1]]],
            hess=lambda x, v: 2.0 * v[0] * np.eye(2),
        ),
        solution=[1.0, 0.0],
    )


def hyperbolic_inequality() -> Known:
    """Nocedal & Wright, problem 15.1: a hyperbola as the boundary."""
    return Known(
        "hyperbolic inequality",
        lambda x: 0.5 * (x[0] - 2.0) ** 2 + 0.5 * (x[1] - 0.5) ** 2,
        [0.0, 0.0],
        jac=lambda x: np.array([x[0] - 2.0, x[1] - 0.5]),
        hess=lambda x: np.eye(2),
        bounds=Bounds(0.0, np.inf),
        constraints=NonlinearConstraint(
            lambda x: 1.0 / (x[0] + 1.0) - x[1],
            0.25,
            np.inf,
            jac=lambda x: [[-1.0 / (x[0] + 1.0) ** 2, -1.0]],
            hess=lambda x, v: 2.0 * v[0] * np.array([[1.0 / (x[0] + 1.0) ** 3, 0.0], [0.0, 0.0]]),
        ),
        solution=[1.952823, 0.088659],
    )


def rosenbrock(kind: str) -> Known:
    """Rosenbrock's valley without, with linear, with equality constraints or with bounds."""
    variants: dict[str, dict[str, Any]] = {
        "free": {"x0": [-1.0, 2.0, 0.5], "solution": [1.0, 1.0, 1.0]},
        "inequality": {
            "x0": [-1.0, -0.5],
            "constraints": LinearConstraint([[1.0, 2.0]], -np.inf, 1.0),
            "solution": [0.5022, 0.2489],
        },
        "bounds": {"x0": [-0.2, 0.2], "bounds": Bounds([-2.0, -2.0], [0.0, 2.0]), "optimum": 1.0},
        "equality and inequality": {
            "x0": [-1.0, -0.5],
            "bounds": Bounds([-2.0, -2.0], [2.0, 2.0]),
            "constraints": (
                LinearConstraint([[1.0, 2.0]], -np.inf, 1.0),
                LinearConstraint([[2.0, 1.0]], 1.0, 1.0),
            ),
            "solution": [0.41494475, 0.1701105],
        },
    }
    return Known(f"rosenbrock, {kind}", rosen, jac=rosen_der, hess=rosen_hess, **variants[kind])


def electrons(count: int = 8, seed: int = 0) -> Known:
    """Charges on a sphere at their distances of least energy (Thomson's problem)."""
    energies = {4: 3.674234614, 6: 9.985281374, 8: 19.675287861}  # Wikipedia, "Thomson problem"
    start = np.random.default_rng(seed).normal(size=(3, count))
    start /= np.linalg.norm(start, axis=0)
    first, second = np.triu_indices(count, 1)

    def energy(x: np.ndarray) -> float:
        p = x.reshape(3, count)
        return float((1.0 / np.linalg.norm(p[:, first] - p[:, second], axis=0)).sum())

    def gradient(x: np.ndarray) -> np.ndarray:
        p = x.reshape(3, count)
        difference = p[:, first] - p[:, second]
        force = -difference / np.linalg.norm(difference, axis=0) ** 3
        g = np.zeros((3, count))
        np.add.at(g.T, first, force.T)
        np.add.at(g.T, second, -force.T)
        return g.ravel()

    def jacobian(x: np.ndarray) -> np.ndarray:
        p = x.reshape(3, count)
        return np.hstack([np.diag(2.0 * p[i]) for i in range(3)])

    sphere = NonlinearConstraint(lambda x: (x.reshape(3, count) ** 2).sum(axis=0), 1.0, 1.0, jac=jacobian)
    return Known(
        "electrons", energy, start.ravel(), jac=gradient, constraints=sphere, optimum=energies[count]
    )


CLASSICS = [
    maratos(),
    hyperbolic_inequality(),
    rosenbrock("free"),
    rosenbrock("inequality"),
    rosenbrock("bounds"),
    rosenbrock("equality and inequality"),
    electrons(),
]


def quadratic(x: np.ndarray) -> float:
    """Distance to (2, 1), squared."""
    return float((x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2)


def quadratic_gradient(x: np.ndarray) -> np.ndarray:
    """Its gradient."""
    return np.array([2.0 * (x[0] - 2.0), 2.0 * (x[1] - 1.0)])


def _sqrt_or_raise(x: np.ndarray) -> float:
    if x[0] < 0.0:
        raise ValueError("square root of a negative number")
    return float(np.sqrt(x[0]) + x[1])


AWKWARD = [
    Known(
        "duplicated constraints",
        quadratic,
        [0.0, 0.0],
        constraints=[LinearConstraint([[1.0, 1.0]] * 3, -np.inf, 2.0), Constraint(sum, "<", 2.0, name="sum")],
        solution=[1.5, 0.5],
    ),
    Known(
        "redundant equalities",
        quadratic,
        [0.0, 0.0],
        constraints=LinearConstraint([[1.0, 1.0], [2.0, 2.0]], [2.0, 4.0], [2.0, 4.0]),
        solution=[1.5, 0.5],
    ),
    Known(
        "logarithm left by a full step",
        lambda x: x[0] - np.log(x[0]) + x[1] ** 2 if x[0] > 0.0 else np.nan,
        [40.0, 3.0],
        constraints=Constraint(lambda x: x[0] + x[1], ">", 0.5),
        solution=[1.0, 0.0],
    ),
    Known(
        "constraint that raises",
        lambda x: x[0] + 3.0 * x[1] ** 2,
        [4.0, 2.0],
        constraints=Constraint(_sqrt_or_raise, ">", 1.0, name="root"),
        # x0 = (1 − x1)²; then 2(1 − x1)·(−1) + 6x1 = 0
        solution=[0.5625, 0.25],
    ),
    Known(
        "rows scaled 1e-6 to 1e11",
        quadratic,
        [0.0, 0.0],
        jac=quadratic_gradient,
        constraints=[
            Constraint(
                lambda x: 1e-6 * (x[0] + x[1]), "<", 2e-6, jac=lambda x: np.full(2, 1e-6), name="small"
            ),
            Constraint(
                lambda x: 1e11 * (x[0] ** 2 - x[1]),
                "<",
                1e11,
                jac=lambda x: 1e11 * np.array([2.0 * x[0], -1.0]),
                name="large",
            ),
        ],
        # both active: x0² + x0 = 3
        solution=[(np.sqrt(13.0) - 1.0) / 2.0, (5.0 - np.sqrt(13.0)) / 2.0],
    ),
    Known(
        "complementarity",
        lambda x: (x[0] - 1.0) ** 2 + (x[1] - 2.0) ** 2,
        [0.5, 0.4],
        jac=lambda x: np.array([2.0 * (x[0] - 1.0), 2.0 * (x[1] - 2.0)]),
        bounds=Bounds(0.0, np.inf),
        constraints=Constraint(lambda x: x[0] * x[1], "<", 0.0, jac=lambda x: np.array([x[1], x[0]])),
        optimum=1.0,
    ),
    Known(
        "exp(60) at the start",
        lambda x: np.exp(x[0]) + (x[1] - 1.0) ** 2,
        [60.0, 0.0],
        jac=lambda x: np.array([np.exp(x[0]), 2.0 * (x[1] - 1.0)]),
        constraints=Constraint(lambda x: x[0] + x[1], ">", 1.0, jac=lambda x: np.ones(2)),
        # the constraint is active: minimum of exp(a) + a², where exp(a) = −2a
        solution=[-0.3517337112491958, 1.3517337112491958],
    ),
    Known(
        "fixed variables",
        lambda x: (x**2).sum() + x[0] * x[2],
        [3.0, 9.0, 2.0],
        bounds=[(None, None), (2.0, 2.0), (1.0, 5.0)],
        constraints=Constraint(lambda x: x[0] + x[1], ">", 0.0),
        solution=[-0.5, 2.0, 1.0],
    ),
    Known(
        "NaN at the start",
        lambda x: (x[0] - 1.0) ** 2 + (np.nan if x[0] == 0.0 else x[1] ** 2),
        [0.0, 0.5],
        constraints=Constraint(lambda x: x[0] + x[1], "<", 3.0),
        solution=[1.0, 0.0],
    ),
    Known(
        "no constraint qualification",
        lambda x: x[0] + x[1] ** 2,
        [3.0, 1.0],
        jac=lambda x: np.array([1.0, 2.0 * x[1]]),
        constraints=Constraint(lambda x: x[0] ** 2, "=", 0.0, jac=lambda x: np.array([2.0 * x[0], 0.0])),
        optimum=0.0,
    ),
]
