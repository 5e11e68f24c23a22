"""NLopt's gradient-based solvers for constraints."""

from __future__ import annotations

import nlopt
import numpy as np

from ..answer import Answer
from ..problems import MAX_EVALUATIONS, MAX_SECONDS, Problem

FTOL = 1e-10
ROW_TOLERANCE = 1e-8
SUCCESSES = {
    nlopt.SUCCESS: "success",
    nlopt.FTOL_REACHED: "ftol reached",
    nlopt.XTOL_REACHED: "xtol reached",
}


def _set_up(algorithm: int, problem: Problem) -> nlopt.opt:
    optimizer = nlopt.opt(algorithm, problem.n)

    def objective(x: np.ndarray, gradient: np.ndarray) -> float:
        if gradient.size:
            gradient[:] = problem.grad(x)
        return problem.fun(x)

    def rows(mask: np.ndarray):
        def evaluate(result: np.ndarray, x: np.ndarray, gradient: np.ndarray) -> None:
            if gradient.size:
                gradient[:] = problem.jac(x)[mask]
            result[:] = problem.con(x)[mask]

        return evaluate

    optimizer.set_min_objective(objective)
    optimizer.set_lower_bounds(problem.xl)
    optimizer.set_upper_bounds(problem.xu)
    for mask, add in (
        (problem.equality, optimizer.add_equality_mconstraint),
        (~problem.equality, optimizer.add_inequality_mconstraint),
    ):
        if np.any(mask):
            add(rows(mask), np.full(np.count_nonzero(mask), ROW_TOLERANCE))
    _stop(optimizer)
    optimizer.set_maxtime(MAX_SECONDS)
    return optimizer


def _stop(optimizer: nlopt.opt) -> None:
    optimizer.set_ftol_rel(FTOL)
    optimizer.set_ftol_abs(FTOL)
    optimizer.set_maxeval(MAX_EVALUATIONS)


def _run(optimizer: nlopt.opt, problem: Problem) -> Answer:
    start = np.clip(problem.x0, problem.xl, problem.xu)  # NLopt refuses a start outside the bounds
    try:
        x = optimizer.optimize(start)
    except Exception as error:  # NLopt has exception classes of its own that share no base
        return Answer(problem.last, False, type(error).__name__)
    code = optimizer.last_optimize_result()
    return Answer(np.asarray(x), code in SUCCESSES, SUCCESSES.get(code, f"code {code}"))


def slsqp(problem: Problem) -> Answer:
    """NLopt's SLSQP."""
    return _run(_set_up(nlopt.LD_SLSQP, problem), problem)


def auglag(problem: Problem) -> Answer:
    """NLopt's augmented Lagrangian around L-BFGS."""
    optimizer = _set_up(nlopt.AUGLAG, problem)
    inner = nlopt.opt(nlopt.LD_LBFGS, problem.n)
    _stop(inner)
    optimizer.set_local_optimizer(inner)
    return _run(optimizer, problem)
