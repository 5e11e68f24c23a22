"""The reference engine: SciPy's own BFGS on the same function and differences.

It is what the compiled engine is tested against, and what runs where numba is missing. The constraint errors
at the shifted points come from those at x by one addition (t ± ½h·column) instead of 2N evaluations.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from ...formulas.penalty import penalty_and_multipliers
from ..design.problems import Problem, Vector
from ..design.published import DIFFERENCE_INTERVAL as INTERVAL
from .engine import STATUSES, Outcome


class PenalizedProblem:
    """objective + penalty of a problem, with its gradient by central differences."""

    def __init__(
        self,
        problem: Problem,
        kernel: str,
        combination: str,
        sigma: float | Vector,
        alpha: float,
        exact: bool,
    ) -> None:
        self.problem = problem
        self.kernel = kernel
        self.combination = combination
        self.sigma = np.full(problem.errors(problem.x0).shape, sigma, dtype=float)
        self.alpha = alpha
        self.exact = exact
        self.columns = np.concatenate([problem.normals, -problem.normals])

    def value(self, x: Vector) -> Any:
        """Penalized function at `x` (N,)."""
        return self.problem.objective @ x + self._penalty(self.problem.errors(x))

    def gradient(self, x: Vector) -> Vector:
        """Its central differences at `x`, or the exact gradient."""
        problem, half = self.problem, 0.5 * INTERVAL
        if self.exact:
            multipliers = self._penalty_and_multipliers(problem.errors(x))[1]
            gradient: Vector = problem.objective + multipliers * x / np.linalg.norm(x)
            return gradient
        if problem.kind == "spheres":
            shift = half * np.eye(x.size)
            above = np.linalg.norm(x + shift, axis=1)[None] - problem.radius
            below = np.linalg.norm(x - shift, axis=1)[None] - problem.radius
        else:
            errors = problem.errors(x)[:, None]
            above, below = errors + half * self.columns, errors - half * self.columns
        objective = problem.objective @ x
        step = half * problem.objective
        difference: Vector = (objective + step + self._penalty(above)) - (
            objective - step + self._penalty(below)
        )
        return difference / INTERVAL

    def _penalty(self, errors: Vector) -> Any:
        """Penalty of errors (m,) or (m, points)."""
        return self._penalty_and_multipliers(errors)[0]

    def _penalty_and_multipliers(self, errors: Vector) -> tuple[Any, Vector]:
        return penalty_and_multipliers(
            errors, sigma=self.sigma, alpha=self.alpha, kernel=self.kernel, combination=self.combination
        )


def solve_scipy(
    problem: Problem,
    *,
    kernel: str,
    combination: str,
    sigma: float | Vector,
    alpha: float,
    x0: Vector | None = None,
    exact: bool = False,
) -> Outcome:
    """Minimize objective + penalty with `scipy.optimize.minimize`; see `engine.solve_compiled`."""
    if exact and problem.kind != "spheres":
        raise ValueError("`solve_scipy(exact=True)` is written for spheres only; got planes.")
    penalized = PenalizedProblem(problem, kernel, combination, sigma, alpha, exact)
    start = problem.x0 if x0 is None else x0
    with np.errstate(all="ignore"):
        result = minimize(penalized.value, start, method="BFGS", jac=penalized.gradient)
    per_gradient = 0 if exact else 2 * problem.dimension
    return Outcome(result.x, result.nit, result.nfev + per_gradient * result.njev, STATUSES[result.status])
