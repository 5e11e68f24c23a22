"""What computes a trial: the compiled optimizer, or SciPy's where numba is missing.

An engine is a function ``solve(problem, kernel=..., combination=..., sigma=..., alpha=...) -> Outcome``;
`find_engine` returns it by name.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from ...extras import install_hint
from .. import StudyError
from ..design.problems import Problem, Vector
from ..design.settings import ENGINES

MISSING_NUMBA = f"numba is missing: SciPy computes, about 100 times slower; {install_hint('study')} adds it."
STATUSES = ("converged", "iteration limit", "precision loss", "not finite")  # numbered as in SciPy


class Outcome(NamedTuple):
    """Where a trial ended.

    `evaluations` counts the values of the penalized function, two per variable and gradient included.
    """

    x: Vector
    iterations: int
    evaluations: int
    status: str


Engine = Callable[..., Outcome]


def default_engine() -> tuple[str, str]:
    """Name of the best engine that is installed, and a note if it is not the best there is."""
    return ("numba", "") if find_spec("numba") else ("scipy", MISSING_NUMBA)


def find_engine(name: str) -> Engine:
    """The engine of this name.

    Examples
    --------
    >>> from softpenalty.study.design.problems import draw
    >>> solve = find_engine("scipy")
    >>> problem = draw("spheres", 2, 0, seed=2021)
    >>> outcome = solve(problem, kernel="algebraic", combination="sum", sigma=15.0, alpha=3e-5)
    >>> bool(np.linalg.norm(outcome.x - problem.solution()) < 1e-3)
    True
    """
    if name == "numba":
        if not find_spec("numba"):
            raise StudyError(f"--engine numba needs numba; install it with {install_hint('study')}.")
        return solve_compiled
    if name == "scipy":
        from .scipy_engine import solve_scipy

        return solve_scipy
    raise StudyError(f"--engine must be one of {', '.join(ENGINES)}; got {name!r}.")


def solve_compiled(
    problem: Problem,
    *,
    kernel: str,
    combination: str,
    sigma: float | Vector,
    alpha: float,
    x0: Vector | None = None,
    exact: bool = False,
) -> Outcome:
    """Minimize objective + penalty with the compiled BFGS.

    Parameters
    ----------
    problem : Problem
        What is solved.
    kernel : {"algebraic", "softplus", "quadratic"}
        Kernel of all constraints.
    combination : {"sum", "norm"}
        How their terms become the penalty.
    sigma : float or (m,) array
        Weight of all constraints, or of each.
    alpha : float
        Corner width; not used by "quadratic".
    x0 : (N,) array, optional
        Start, if not the problem's.
    exact : bool
        Exact gradients instead of the paper's central differences; spheres only.
    """
    from .compiled.bfgs import minimize
    from .compiled.kernels import KERNEL_NUMBERS
    from .compiled.penalized import Penalized

    spheres = problem.kind == "spheres"
    if exact and not spheres:
        raise ValueError("`solve_compiled(exact=True)` is written for spheres only; got planes.")
    columns, rows = np.nonzero(problem.normals.T)
    data = Penalized(
        kernel=KERNEL_NUMBERS[kernel],
        norm=combination == "norm",
        spheres=spheres,
        exact=exact,
        alpha=alpha,
        sigma=np.full(1 if spheres else 2 * problem.dimension, sigma, dtype=float),
        objective=problem.objective,
        radius=problem.radius,
        bounds=np.concatenate([problem.upper, problem.lower]),
        normals=problem.normals[rows, columns],
        rows=rows.astype(np.uintp),
        starts=np.searchsorted(columns, np.arange(problem.dimension + 1)),
    )
    x, iterations, evaluations, status = minimize(data, problem.x0 if x0 is None else x0)
    return Outcome(x, int(iterations), int(evaluations), STATUSES[status])
