"""Convex problems with known solutions whose functions fail: at random, and wherever they are not defined.

As a program it prints how many were solved and what failed::

    PYTHONPATH=src:tests python tests/solve/test_chaos.py [--size 200] [--jobs 2]
    PYTHONPATH=src:tests python tests/solve/test_chaos.py 17 29    # some of them
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

from softpenalty import Constraint, minimize
from solve.convex_problems import KINDS, Array, Problem, Verdict, judge, make

SIZE, SAMPLE = 200, 20
REQUIRED = 0.95  # share that must end at the known solution and say so
FAILING = 0.05  # share of the calls of each function that fail
EXACT_EVERY = 4  # one problem in so many keeps the derivatives it was made with
SEED = 20251


class SimulationError(Exception):
    """What a simulator says when it does not converge."""


class Chaos:
    """Makes functions fail: now and then, and always outside a domain.

    The domain is a ball or a box, in natural units, around start and solution; how much room it leaves is
    drawn too.
    """

    def __init__(self, problem: Problem) -> None:
        self.random = np.random.default_rng([SEED, problem.index])
        self.scale = problem.variable_scale
        start = np.clip(problem.start, problem.lower, problem.upper)  # where the search begins
        self.centre = (start + problem.solution) / 2.0
        self.ball = bool(self.random.uniform() < 0.5)
        self.room = self._distance(start) * self.random.uniform(1.05, 1.5)
        self.room += 10.0 ** self.random.uniform(-2.0, 0.0)
        self.failures = self.outside = 0

    def _distance(self, u: Array) -> float:
        away = u - self.centre
        return float(np.linalg.norm(away) if self.ball else np.abs(away).max())

    def fails(self, x: Array) -> bool:
        outside = self._distance(x / self.scale) > self.room
        fails = outside or bool(self.random.uniform() < FAILING)
        self.outside += outside
        self.failures += fails
        return fails

    def __call__(self, function: Callable[[Array], Any]) -> Callable[[Array], Any]:
        """The function, which now raises or returns NaN where it fails."""

        def failing(x: Array) -> Any:
            if not self.fails(x):
                return function(x)
            if self.random.uniform() < 0.5:
                raise SimulationError("no convergence")
            value = function(x)
            if isinstance(value, tuple):  # objective and gradient
                return np.nan, value[1]
            return value * np.nan

        return failing


def arguments(problem: Problem, chaos: Chaos) -> dict[str, Any]:
    """What `minimize` is called with: the problem's own arguments, failing, most without derivatives."""
    given = dict(problem.arguments)
    exact = problem.index % EXACT_EVERY == 0
    fun, jac = given["fun"], given["jac"]
    if jac is True and not exact:
        given["fun"] = chaos(lambda x: fun(x)[0])
    else:
        given["fun"] = chaos(fun)
    given["jac"] = (chaos(jac) if callable(jac) else jac) if exact else None
    given["constraints"] = [_failing(constraint, chaos, exact) for constraint in given["constraints"]]
    return given


def _failing(constraint: Any, chaos: Chaos, exact: bool) -> Any:
    if isinstance(constraint, LinearConstraint):
        return constraint  # a matrix, nothing to call
    parts = constraint if isinstance(constraint, dict) else vars(constraint)
    fun, jac = chaos(parts["fun"]), parts.get("jac")
    jac = chaos(jac) if exact and callable(jac) else None
    if isinstance(constraint, dict):
        return {"type": constraint["type"], "fun": fun} | ({} if jac is None else {"jac": jac})
    if isinstance(constraint, NonlinearConstraint):
        return NonlinearConstraint(fun, constraint.lb, constraint.ub, jac=jac or "2-point")
    assert isinstance(constraint, Constraint)
    return replace(constraint, fun=fun, jac=jac)


@dataclass(frozen=True)
class Run:
    """One problem solved; `crash` is the exception that came out, if one did."""

    index: int
    kind: str
    traits: list[str]
    verdict: Verdict
    crash: str | None = None
    message: str = ""
    calls_failed: int = 0
    outside: int = 0
    points_failed: int = 0
    points: int = 0
    seconds: float = 0.0

    @property
    def right(self) -> bool:
        """At the known solution, and said so."""
        return self.verdict.solved and self.verdict.claimed


def chosen(count: int) -> list[int]:
    """The first problems, without those whose variables are 1e16 apart: no difference step serves them."""
    return [i for i in range(2 * count) if KINDS[i % len(KINDS)] != "variables ×8"][:count]


def run(index: int) -> Run:
    """Solve problem `index` with warnings as errors."""
    problem = make(index)
    chaos = Chaos(problem)
    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = minimize(**arguments(problem, chaos))
    except Exception as error:  # anything at all is a crash here
        lost = Verdict(np.inf, np.inf, False, -1)
        return Run(index, problem.kind, problem.traits, lost, f"{type(error).__name__}: {error}")
    return Run(
        index,
        problem.kind,
        problem.traits,
        judge(problem, result),
        message=result.message,
        calls_failed=chaos.failures,
        outside=chaos.outside,
        points_failed=result.failures,
        points=result.nfev,
        seconds=time.process_time() - begun,
    )


def run_all(indices: Iterable[int], jobs: int = 1) -> list[Run]:
    """Solve many."""
    if jobs == 1:
        return [run(index) for index in indices]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(run, indices, chunksize=5))


def check(runs: list[Run]) -> None:
    """Assert all that is promised."""
    wrong = {
        "crash": [(r.index, r.crash) for r in runs if r.crash],
        "false success": [(r.index, r.verdict) for r in runs if r.verdict.false_success],
        "false infeasible": [(r.index, r.verdict) for r in runs if r.verdict.false_infeasible],
    }
    assert not any(wrong.values()), wrong
    missed = [r.index for r in runs if not r.right]
    assert len(missed) <= (1.0 - REQUIRED) * len(runs), missed
    assert sum(r.calls_failed for r in runs) > 10 * len(runs)  # there was chaos,
    assert sum(r.outside > 0 for r in runs) > 0.3 * len(runs)  # of both kinds


def test_sample():
    check(run_all(chosen(SAMPLE)))


@pytest.mark.slow
def test_all():
    check(run_all(chosen(SIZE)))


def table(runs: list[Run]) -> str:
    """The figures, then what failed."""
    lines = [
        f"{len(runs)} problems: {sum(r.right for r in runs)} solved and claimed, "
        f"{sum(r.verdict.solved for r in runs)} solved, "
        f"{sum(r.verdict.false_success for r in runs)} false successes, "
        f"{sum(r.verdict.false_infeasible for r in runs)} false infeasible, "
        f"{sum(r.crash is not None for r in runs)} crashes",
        f"{sum(r.points for r in runs)} points, {sum(r.points_failed for r in runs)} of them failed; "
        f"{sum(r.outside > 0 for r in runs)} problems left their domain, "
        f"{sum(r.outside for r in runs)} calls; {sum(r.seconds for r in runs):.1f} s",
    ]
    for r in runs:
        if not r.right:
            v, traits = r.verdict, ", ".join(dict.fromkeys(r.traits))
            lines.append(
                f"{r.index:5} {r.kind:13} gap {v.gap:8.1e} violation {v.violation:8.1e} "
                f"{'claimed ' * v.claimed}{'FALSE SUCCESS ' * v.false_success}"
                f"{r.crash or r.message}  points {r.points}, failed {r.points_failed}, "
                f"outside {r.outside}  [{traits}]"
            )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("index", type=int, nargs="*")
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print(table(run_all(options.index or chosen(options.size), options.jobs)))


if __name__ == "__main__":
    main()
