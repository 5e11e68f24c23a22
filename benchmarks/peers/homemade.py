"""What people write themselves: two loops from the textbooks around SciPy's unconstrained minimizers."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from ..answer import Answer
from ..problems import Problem

FEASIBLE = 1e-8
INNER_ITERATIONS = 500


def _error(problem: Problem, x: np.ndarray) -> np.ndarray:
    """Error where a row is violated, zero elsewhere."""
    rows = problem.con(x)
    return np.where(problem.equality, rows, np.maximum(rows, 0.0))


def courant_beltrami(problem: Problem) -> Answer:
    """Quadratic penalty sigma/2 error² on rows and bounds, sigma growing by tens, BFGS inside."""
    x, sigma, iterations = problem.x0, 1.0, 0
    while True:

        def penalized(x: np.ndarray, sigma: float = sigma) -> tuple[float, np.ndarray]:
            error = _error(problem, x)
            outside = x - np.clip(x, problem.xl, problem.xu)
            value = problem.fun(x) + 0.5 * sigma * (error @ error + outside @ outside)
            return value, problem.grad(x) + sigma * (problem.jac(x).T @ error + outside)

        result = minimize(penalized, x, jac=True, method="BFGS", options={"maxiter": INNER_ITERATIONS})
        x, iterations = result.x, iterations + result.nit
        outside = np.abs(x - np.clip(x, problem.xl, problem.xu))
        violation = np.max(np.concatenate([[0.0], np.abs(_error(problem, x)), outside]))
        if violation <= FEASIBLE or sigma >= 1e9:
            return Answer(x, bool(violation <= 1e-6), f"sigma {sigma:.0e}, {result.message}", iterations)
        sigma *= 10.0


def augmented_lagrangian(problem: Problem) -> Answer:
    """Augmented Lagrangian as in Nocedal and Wright, algorithm 17.4, with L-BFGS-B inside."""
    x = np.clip(problem.x0, problem.xl, problem.xu)
    box = Bounds(problem.xl, problem.xu)
    multipliers, sigma, iterations = np.zeros(problem.m), 10.0, 0
    wanted, accuracy = sigma**-0.1, 1.0 / sigma
    for _ in range(50):

        def augmented(
            x: np.ndarray, y: np.ndarray = multipliers, sigma: float = sigma
        ) -> tuple[float, np.ndarray]:
            slope = y + sigma * problem.con(x)
            slope = np.where(problem.equality, slope, np.maximum(slope, 0.0))
            value = problem.fun(x) + (slope @ slope - y @ y) / (2.0 * sigma)
            return value, problem.grad(x) + problem.jac(x).T @ slope

        options = {"gtol": max(accuracy, 1e-8), "ftol": 1e-15, "maxiter": INNER_ITERATIONS}
        result = minimize(augmented, x, jac=True, bounds=box, method="L-BFGS-B", options=options)
        x, iterations = result.x, iterations + result.nit
        rows = problem.con(x)
        # Feasibility and complementarity in one number, as inequalities enter through their slack.
        shifted = np.where(problem.equality, rows, np.maximum(rows, -multipliers / sigma))
        violation = np.max(np.abs(shifted), initial=0.0)
        if violation <= max(wanted, FEASIBLE):
            if violation <= FEASIBLE and accuracy <= FEASIBLE:
                return Answer(x, True, "converged", iterations)
            multipliers = multipliers + sigma * shifted
            wanted, accuracy = wanted * sigma**-0.9, accuracy / sigma
        else:
            sigma = min(100.0 * sigma, 1e12)
            wanted, accuracy = sigma**-0.1, 1.0 / sigma
        accuracy = max(accuracy, FEASIBLE)
    return Answer(x, False, f"violation {violation:.0e} after 50 outer iterations", iterations)
