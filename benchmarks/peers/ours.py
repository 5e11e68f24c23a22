"""softpenalty in its three methods, called as a user would."""

from __future__ import annotations

from typing import Any

import softpenalty

from ..answer import Answer
from ..problems import Problem
from .scipy_solvers import answer, bounds, constraints


def solve(problem: Problem, **arguments: Any) -> Answer:
    """The default method with first derivatives."""
    exact = "hess" in arguments
    return answer(
        softpenalty.minimize(
            problem.fun,
            problem.x0,
            jac=problem.grad,
            bounds=bounds(problem),
            constraints=constraints(problem, exact=exact),
            **arguments,
        )
    )


def solve_exact(problem: Problem) -> Answer:
    """The default method with exact Hessians."""
    return solve(problem, hess=problem.hess)


def solve_multiplier(problem: Problem) -> Answer:
    """An outer loop that sets sigma from the multipliers."""
    return solve(problem, method="multiplier")


def solve_penalty(problem: Problem) -> Answer:
    """The paper's way: one fixed penalty."""
    return solve(problem, method="penalty")
