"""Uno with its filterSQP preset and exact Hessians."""

from __future__ import annotations

import numpy as np
import unopy

from ..answer import Answer
from ..problems import MAX_SECONDS, Problem

TOLERANCE = 1e-8


def solve(problem: Problem) -> Answer:
    """Trust-region SQP with a filter."""
    n, m = problem.n, problem.m
    model = unopy.Model(
        unopy.PROBLEM_NONLINEAR, n, list(problem.xl), list(problem.xu), unopy.ZERO_BASED_INDEXING
    )

    def gradient(x: np.ndarray, out: np.ndarray) -> None:
        out[:] = problem.grad(np.array(x))

    def rows(x: np.ndarray, out: np.ndarray) -> None:
        out[:] = problem.con(np.array(x))

    def jacobian(x: np.ndarray, out: np.ndarray) -> None:
        out[:] = problem.jac(np.array(x)).ravel()

    lower = np.tril_indices(n)

    def hessian(x: np.ndarray, weight: float, multipliers: np.ndarray, out: np.ndarray) -> None:
        out[:] = problem.lagrangian_hess(np.array(x), weight, np.array(multipliers))[lower]

    model.set_objective(unopy.MINIMIZE, lambda x: problem.fun(np.array(x)), gradient)
    if m:
        row, column = np.indices((m, n)).reshape(2, -1).tolist()
        limits = np.where(problem.equality, 0.0, -np.inf).tolist()
        model.set_constraints(m, rows, limits, [0.0] * m, m * n, row, column, jacobian)
    model.set_lagrangian_sign_convention(unopy.MULTIPLIER_POSITIVE)
    model.set_lagrangian_hessian(
        len(lower[0]), unopy.LOWER_TRIANGLE, lower[0].tolist(), lower[1].tolist(), hessian
    )
    model.set_initial_primal_iterate(list(problem.x0))

    solver = unopy.UnoSolver()
    solver.set_preset("filtersqp")
    solver.set_option("logger", "SILENT")
    solver.set_option("primal_tolerance", TOLERANCE)
    solver.set_option("dual_tolerance", TOLERANCE)
    solver.set_option("time_limit", MAX_SECONDS)
    result = solver.optimize(model)
    status = f"{result.optimization_status.name}, {result.solution_status.name}"
    success = (
        result.optimization_status == unopy.OptimizationStatus.SUCCESS
        and result.solution_status == unopy.SolutionStatus.FEASIBLE_KKT_POINT
    )
    return Answer(np.array(result.primal_solution), success, status, result.number_iterations)
