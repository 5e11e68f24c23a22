"""Two thousand convex problems with known solutions: no crash, no warning, no false claim.

As a program it prints a table by kind and the list of what failed, or all about one problem::

    PYTHONPATH=src:tests python tests/solve/test_fuzz.py [--size 2000] [--kind rows] [--jobs 2]
    PYTHONPATH=src:tests python tests/solve/test_fuzz.py 17        # all about one
    PYTHONPATH=src:tests python tests/solve/test_fuzz.py 17 29 42  # the table of some
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from softpenalty import minimize
from solve.convex_problems import KINDS, LARGEST_GRADIENT, SIZE, Problem, Verdict, judge, make

SAMPLE = 300  # run by default, seconds
REQUIRED = {"plain": 0.99, "rows": 0.99, "objective": 0.99, "variables ×3": 0.97}  # solved and claimed


@dataclass(frozen=True)
class Run:
    """One problem solved; `crash` is the exception that came out, if one did."""

    index: int
    kind: str
    traits: list[str]
    verdict: Verdict
    crash: str | None = None
    message: str = ""
    evaluations: tuple[int, int] = (0, 0)
    seconds: float = 0.0


def run(index: int) -> Run:
    """Solve problem `index` with warnings as errors."""
    problem = make(index)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = minimize(**problem.arguments)
    except Exception as error:  # anything at all is a crash here
        lost = Verdict(np.inf, np.inf, False, -1)
        return Run(index, problem.kind, problem.traits, lost, f"{type(error).__name__}: {error}")
    seconds = time.process_time() - start
    evaluations = (result.nfev, result.njev)
    verdict = judge(problem, result)
    return Run(index, problem.kind, problem.traits, verdict, None, result.message, evaluations, seconds)


def run_all(indices: Iterable[int], jobs: int = 1) -> list[Run]:
    """Solve many."""
    if jobs == 1:
        return [run(index) for index in indices]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(run, indices, chunksize=20))


def check(runs: list[Run], spare: int = 0) -> None:
    """Assert all that is promised; `spare` more of each kind may be missed."""
    wrong = {
        "crash": [(r.index, r.crash) for r in runs if r.crash],
        "false success": [(r.index, r.verdict) for r in runs if r.verdict.false_success],
        "false infeasible": [(r.index, r.verdict) for r in runs if r.verdict.false_infeasible],
    }
    assert not any(wrong.values()), wrong
    for kind, share in REQUIRED.items():
        verdicts = {r.index: r.verdict for r in runs if r.kind == kind}
        missed = [i for i, v in verdicts.items() if not (v.solved and v.claimed)]
        assert len(missed) <= (1.0 - share) * len(verdicts) + spare, f"{kind}: {len(missed)} missed, {missed}"


def test_sample():
    check(run_all(range(SAMPLE)), spare=1)  # 1 % of 60 is less than one


@pytest.mark.slow
def test_all():
    check(run_all(range(SIZE)))


@pytest.mark.parametrize("index", range(200))
def test_solutions_are_solutions(index):
    """The construction itself: convex, feasible, stationary with multipliers of the right sign."""
    problem = make(index)
    u = problem.solution
    assert (problem.objective.weights >= 0.0).all()
    assert (problem.rows.weights[np.isfinite(problem.high)] >= 0.0).all()
    assert (problem.rows.weights[np.isfinite(problem.low)] <= 0.0).all()
    assert problem.violation(u) <= 1e-13
    g = problem.objective.gradients(u)[0] + problem.multipliers @ problem.rows.gradients(u)
    size = np.abs(problem.objective.linear).max() + 1.0
    assert np.abs(problem.objective.gradients(u)).max() <= LARGEST_GRADIENT
    slack = 1e-12 * size  # rounding of sums of some hundred terms
    assert (g >= -slack)[(u < problem.upper) & (u > problem.lower)].all()
    assert (g[u < problem.upper] >= -slack).all()
    assert (g[u > problem.lower] <= slack).all()
    values = problem.rows.values(u)
    y = problem.multipliers
    assert (np.abs(values - problem.high)[y > 0] <= 1e-12 * np.abs(values[y > 0])).all()
    assert (np.abs(values - problem.low)[y < 0] <= 1e-12 * np.abs(values[y < 0])).all()
    _check_derivatives(problem)
    assert judge(problem, _Claim(problem.x)).solved


def _check_derivatives(problem: Problem) -> None:
    u = problem.solution + 0.1
    d = np.linspace(0.5, 1.0, u.size)
    h = 1e-5  # a central difference errs by h² ~ 1e-10 and 1e-16/h ~ 1e-11 of the terms' size
    for functions in (problem.objective, problem.rows):
        difference = (functions.values(u + h * d) - functions.values(u - h * d)) / (2 * h)
        size = 1.0 + np.abs(functions.values(u)) + np.abs(functions.linear).sum(axis=1)
        assert (np.abs(difference - functions.gradients(u) @ d) <= 1e-7 * size).all()


@dataclass
class _Claim:
    x: Any
    success: bool = True
    status: int = 0


def test_the_judge_sees_what_is_wrong():
    problem = make(next(i for i in range(50) if make(i).lower.size > 3 and make(i).low.size > 3))
    wrong = judge(problem, _Claim(problem.x + 0.1 * problem.variable_scale))
    assert wrong.false_success
    assert not wrong.solved
    assert judge(problem, _Claim(problem.x * np.nan)).false_success
    assert judge(problem, _Claim(problem.x, success=False, status=3)).false_infeasible


def table(runs: list[Run]) -> str:
    """Shares by kind, then what failed."""
    lines = [
        f"{'kind':14}{'problems':>9}{'solved %':>10}{'claimed %':>10}{'both %':>8}"
        f"{'false success':>14}{'false infeas.':>14}{'crashes':>8}{'nfev':>9}{'njev':>8}{'s':>7}"
    ]
    for kind in (*KINDS, "all"):
        group = [r for r in runs if kind in (r.kind, "all")]
        if not group:
            continue
        verdicts = [r.verdict for r in group]

        def share(counts: list[bool]) -> float:
            return 100.0 * sum(counts) / len(counts)

        lines.append(
            f"{kind:14}{len(group):9}{share([v.solved for v in verdicts]):10.1f}"
            f"{share([v.claimed for v in verdicts]):10.1f}"
            f"{share([v.solved and v.claimed for v in verdicts]):8.1f}"
            f"{sum(v.false_success for v in verdicts):14}{sum(v.false_infeasible for v in verdicts):14}"
            f"{sum(r.crash is not None for r in group):8}{sum(r.evaluations[0] for r in group):9}"
            f"{sum(r.evaluations[1] for r in group):8}{sum(r.seconds for r in group):7.1f}"
        )
    lines.append("\nnot both solved and claimed: index, kind, status, gap, violation, traits")
    for r in runs:
        v = r.verdict
        if v.solved and v.claimed:
            continue
        flag = "FALSE SUCCESS" if v.false_success else "FALSE INFEASIBLE" if v.false_infeasible else ""
        what = r.crash or f"{'claimed' if v.claimed else ''} {r.message.split(':')[0]} {flag}"
        traits = ", ".join(dict.fromkeys(r.traits))
        lines.append(f"{r.index:5} {r.kind:13} {v.gap:9.1e} {v.violation:8.1e}  {what.strip()}  [{traits}]")
    return "\n".join(lines)


def show(index: int) -> None:
    """Everything about one problem and its solve."""
    problem = make(index)
    print(f"problem {index}, {problem.kind}: {', '.join(dict.fromkeys(problem.traits))}")
    m = problem.low.size
    print(f"n = {problem.solution.size}, rows = {m}, objective scale {problem.objective_scale:.3g}")
    print(
        f"x* = {problem.x}\nf* = {problem.optimum * problem.objective_scale}\nx0 = {problem.arguments['x0']}"
    )
    print(f"variable scale = {problem.variable_scale}\nrow scale = {problem.row_scale}")
    print(f"multipliers (natural, positive at upper limits) = {problem.multipliers}")
    print(f"bounds = {problem.arguments.get('bounds')}")
    for constraint in problem.arguments["constraints"]:
        print(f"  {constraint!r}"[:100])
    result = minimize(**problem.arguments)
    for row in result.history:
        print(
            "  ".join(f"{k} {row[k]:.6g}" for k in ("nit", "fun", "maxcv", "stationarity", "step", "trials"))
        )
    print(result)
    print(result.kkt)
    print(f"(x − x*)/scale = {(result.x - problem.x) / problem.variable_scale}")
    print(judge(problem, result))


def main() -> None:
    """Print the table, or one problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("index", type=int, nargs="*", help="one: all about it; several: their table")
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if len(options.index) == 1:
        show(options.index[0])
        return
    wanted = options.index or [
        i for i in range(options.size) if options.kind in (None, KINDS[i % len(KINDS)])
    ]
    print(table(run_all(wanted, options.jobs)))


if __name__ == "__main__":
    main()
