"""The study's engine against the author's way, in CPU time per evaluation of the penalized function.

The author's way, written from its description: every value of the differences is computed from scratch, all
2N shifted points times all constraints at once in full NumPy temporaries, with masks in the penalty
functions; SciPy's BFGS does the rest. One evaluation is one value of the penalized function, those of the
differences included, on both sides. The two are timed in turns on the same problems. The goals are for
planes, where the author's temporaries have (2N)²·N entries; a sphere has one constraint and no such waste.

    python benchmarks/speed/study.py                 # N = 12 and N = 50, all configurations
    python benchmarks/speed/study.py --problems 4 --dimensions 12
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from softpenalty.study.compute.engine import Outcome, find_engine
from softpenalty.study.design.experiments import STANDARD, Configuration
from softpenalty.study.design.problems import Problem, draw
from softpenalty.study.design.published import DIFFERENCE_INTERVAL as INTERVAL

GOALS = {("planes", 12): "80", ("planes", 50): "180"}  # times less CPU per evaluation
OVERFLOW = 1000.0  # error/alpha above which the author's softplus is masked to be linear


def author_kernel(kernel: str, error: np.ndarray, alpha: float) -> np.ndarray:
    """Penalty functions of the paper's Table 1 and Eq. 3, literally."""
    if kernel == "quadratic":
        value = np.zeros_like(error)
        mask = error > 0.0
        value[mask] = error[mask] ** 2
        return value
    if kernel == "algebraic":
        return (np.sqrt(4.0 * alpha**2 + error**2) + error) / 2.0
    ratio = error / alpha
    value = np.where(error > 0.0, error, 0.0)
    mask = np.abs(ratio) < OVERFLOW
    value[mask] = alpha * np.log2(1.0 + 2.0 ** ratio[mask])
    return value


def author_function(problem: Problem, configuration: Configuration) -> Callable[[np.ndarray], np.ndarray]:
    """Penalized function of many points (points, N) at once."""
    if problem.kind == "planes":
        normals = np.concatenate([problem.normals, -problem.normals])
        facing = np.diag(problem.normals)
        through = np.concatenate([np.diag(problem.upper / facing), np.diag(-problem.lower / facing)])

    def function(points: np.ndarray) -> np.ndarray:
        if problem.kind == "planes":
            errors = np.sum(normals[None] * (points[:, None, :] - through[None]), axis=-1)
        else:
            errors = (np.sqrt(np.sum(points**2, axis=-1)) - problem.radius)[:, None]
        terms = configuration.sigma * author_kernel(configuration.kernel, errors, configuration.alpha)
        norm = configuration.combination == "norm"
        penalty = np.sqrt(np.sum(terms**2, axis=-1)) if norm else np.sum(terms, axis=-1)
        return np.sum(points * problem.objective, axis=-1) + penalty

    return function


def solve_as_author(problem: Problem, configuration: Configuration, maxiter: int | None = None) -> Outcome:
    """SciPy's BFGS with central differences from scratch."""
    n = problem.dimension
    function = author_function(problem, configuration)
    shift = 0.5 * INTERVAL * np.eye(n)

    def value(x: np.ndarray) -> float:
        return float(function(x[None])[0])

    def gradient(x: np.ndarray) -> np.ndarray:
        values = function(np.concatenate([x + shift, x - shift]))
        return (values[:n] - values[n:]) / INTERVAL

    with np.errstate(all="ignore"):
        result = minimize(value, problem.x0, jac=gradient, method="BFGS", options={"maxiter": maxiter})
    return Outcome(result.x, result.nit, result.nfev + 2 * n * result.njev, str(result.status))


def seconds_per_evaluation(solve: Callable[[], Outcome]) -> tuple[float, int]:
    """CPU seconds and evaluations of one trial."""
    began = time.process_time()
    outcome = solve()
    return time.process_time() - began, outcome.evaluations


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[12, 50])
    parser.add_argument("--problems", type=int, default=6)
    parser.add_argument("--iterations", type=int, default=60, help="of the author's way, per trial")
    asked = parser.parse_args()
    engine = find_engine("numba")
    print(
        "| kind | N | configuration | author µs | engine µs | ratio | goal |\n|---|--:|---|--:|--:|--:|--:|"
    )
    for kind in ("planes", "spheres"):
        for dimension in asked.dimensions:
            for configuration in STANDARD:
                engine(
                    draw(kind, dimension, 0, seed=0), **configuration.penalty
                )  # compiled or loaded before timing
                totals = np.zeros((2, 2))
                for index in range(asked.problems):
                    problem = draw(kind, dimension, index, seed=2021)
                    totals[0] += seconds_per_evaluation(
                        lambda: solve_as_author(problem, configuration, asked.iterations)  # noqa: B023
                    )
                    totals[1] += seconds_per_evaluation(lambda: engine(problem, **configuration.penalty))  # noqa: B023
                author, ours = totals[:, 0] / totals[:, 1] * 1e6
                print(
                    f"| {kind} | {dimension} | {configuration.name} | {author:.3f} | {ours:.4f} "
                    f"| {author / ours:.0f} | {GOALS.get((kind, dimension), '–')} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
