"""SciPy's constrained minimizers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import BFGS, Bounds, LinearConstraint, NonlinearConstraint, OptimizeResult, minimize

from ..answer import Answer
from ..problems import MAX_EVALUATIONS, Problem


def bounds(problem: Problem) -> Bounds | None:
    """The problem's bounds, None when there are none."""
    if np.all(np.isinf(problem.xl)) and np.all(np.isinf(problem.xu)):
        return None
    return Bounds(problem.xl, problem.xu)


def constraints(problem: Problem, *, exact: bool = False) -> list[LinearConstraint | NonlinearConstraint]:
    """The problem's rows as SciPy's constraint objects, with Hessians if `exact`."""
    lower = np.where(problem.equality, 0.0, -np.inf)
    split = problem.m_linear
    found: list[LinearConstraint | NonlinearConstraint] = []
    if split:
        found.append(LinearConstraint(problem.A, lower[:split] + problem.b, problem.b))
    if problem.m_nonlinear:
        extra: dict[str, Any] = {"hess": problem.nonlinear_hess if exact else BFGS()}
        found.append(
            NonlinearConstraint(problem.nonlinear, lower[split:], 0.0, jac=problem.nonlinear_jac, **extra)
        )
    return found


def dictionaries(problem: Problem) -> list[dict[str, Any]]:
    """The problem's rows as the old dictionaries, SLSQP's native form."""
    found = []
    for kind, rows, sign in (("eq", problem.equality, 1.0), ("ineq", ~problem.equality, -1.0)):
        if np.any(rows):
            found.append(
                {
                    "type": kind,
                    "fun": lambda x, rows=rows, sign=sign: sign * problem.con(x)[rows],
                    "jac": lambda x, rows=rows, sign=sign: sign * problem.jac(x)[rows],
                }
            )
    return found


def answer(result: OptimizeResult) -> Answer:
    """SciPy's result in our words."""
    return Answer(np.asarray(result.x), bool(result.success), str(result.message), result.get("nit"))


def slsqp(problem: Problem, ftol: float = 1e-10) -> Answer:
    """SLSQP with the old constraint dictionaries."""
    return answer(
        minimize(
            problem.fun,
            problem.x0,
            jac=problem.grad,
            bounds=bounds(problem),
            constraints=dictionaries(problem),
            method="SLSQP",
            options={"ftol": ftol, "maxiter": 1000},
        )
    )


def slsqp_default(problem: Problem) -> Answer:
    """SLSQP as most users call it."""
    return slsqp(problem, ftol=1e-6)


def trust_constr(problem: Problem) -> Answer:
    """trust-constr with BFGS for the objective and the rows."""
    return answer(
        minimize(
            problem.fun,
            problem.x0,
            jac=problem.grad,
            hess=BFGS(),
            bounds=bounds(problem),
            constraints=constraints(problem),
            method="trust-constr",
            options={"gtol": 1e-8, "xtol": 1e-10, "maxiter": 2000},
        )
    )


def cobyqa(problem: Problem) -> Answer:
    """COBYQA, without derivatives."""
    return answer(
        minimize(
            problem.fun,
            problem.x0,
            bounds=bounds(problem),
            constraints=constraints(problem),
            method="COBYQA",
            options={
                "final_tr_radius": 1e-8,
                "feasibility_tol": 1e-8,
                "maxfev": MAX_EVALUATIONS // 10,
                "maxiter": MAX_EVALUATIONS // 10,
            },
        )
    )


def cobyla(problem: Problem) -> Answer:
    """COBYLA, without derivatives."""
    return answer(
        minimize(
            problem.fun,
            problem.x0,
            bounds=bounds(problem),
            constraints=constraints(problem),
            method="COBYLA",
            options={"tol": 1e-8, "catol": 1e-8, "maxiter": MAX_EVALUATIONS // 2},
        )
    )
