"""How an experiment solves a problem with a configuration: one function each.

All have the signature ``method(problem, configuration, engine) -> Outcome``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...formulas.combinations import COMBINATIONS
from ...formulas.kernels import KERNELS
from ..design.experiments import Configuration
from ..design.problems import Problem, Vector
from ..design.published import DIFFERENCE_INTERVAL
from .engine import Engine, Outcome

Method = Callable[[Problem, Configuration, Engine], Outcome]

BALANCE_ROUNDS = 20
BALANCE_TOLERANCE = DIFFERENCE_INTERVAL  # a round that moves x by less is the last


def differences(problem: Problem, configuration: Configuration, engine: Engine) -> Outcome:
    """BFGS with central differences of the penalized function, as in the paper."""
    return engine(problem, **configuration.penalty)


def exact(problem: Problem, configuration: Configuration, engine: Engine) -> Outcome:
    """BFGS with exact gradients."""
    return engine(problem, **configuration.penalty, exact=True)


def balance(problem: Problem, configuration: Configuration, engine: Engine) -> Outcome:
    """BFGS again and again, with sigma = balance(multipliers) of the last end point.

    After the first round the multipliers are those of a stationary point, so each sigma is about twice what
    holds its constraint, and the error vanishes whatever alpha is.
    """
    kernel, combination = KERNELS[configuration.kernel], COMBINATIONS[configuration.combination]
    x = problem.x0
    sigma: Vector = np.full(problem.errors(x).shape, configuration.sigma)
    iterations = evaluations = 0
    for _ in range(BALANCE_ROUNDS):
        before = x
        x, steps, values, status = engine(problem, **(configuration.penalty | {"sigma": sigma}), x0=x)
        iterations += steps
        evaluations += values
        if not np.all(np.isfinite(x)) or np.linalg.norm(x - before) <= BALANCE_TOLERANCE:
            break
        value, slope, _ = kernel.evaluate(problem.errors(x), configuration.alpha)
        sigma = combination.balance(combination.multipliers(sigma * value, sigma * slope))
    return Outcome(x, iterations, evaluations, status)


def solvers(problem: Problem, configuration: Configuration, engine: Engine) -> Outcome:
    """A solver of constrained problems, with exact derivatives: `softpenalty.minimize` or SciPy's SLSQP."""
    from scipy.optimize import LinearConstraint, NonlinearConstraint
    from scipy.optimize import minimize as scipy_minimize

    from ...solve.minimize import minimize

    constraints: list[Any]
    if problem.kind == "planes":
        constraints = [  # one-sided: the two sides of an infeasible problem contradict each other
            LinearConstraint(problem.normals, -np.inf, problem.upper),
            LinearConstraint(-problem.normals, -np.inf, problem.lower),
        ]
    else:
        constraints = [
            NonlinearConstraint(
                lambda x: [np.linalg.norm(x)],
                -np.inf,
                problem.radius,
                jac=lambda x: (x / np.linalg.norm(x))[None],
            )
        ]
    asked: dict[str, Any] = {"jac": lambda x: problem.objective, "constraints": constraints}
    with np.errstate(all="ignore"):
        if configuration.name == "slsqp":
            result: Any = scipy_minimize(problem.objective.dot, problem.x0, method="SLSQP", **asked)
        else:
            result = minimize(problem.objective.dot, problem.x0, **asked)
    return Outcome(result.x, result.nit, result.nfev, "converged" if result.success else "not converged")


METHODS: dict[str, Method] = {
    "differences": differences,
    "exact": exact,
    "balance": balance,
    "solvers": solvers,
}
