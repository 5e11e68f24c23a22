"""Five design problems from random starts within their bounds, no derivatives given.

As a program it prints a table: ``PYTHONPATH=src:tests python tests/solve/test_design.py [--starts 100]``, or
all about one solve: ``python tests/solve/test_design.py "tension spring" 17``.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from design_problems import DESIGNS, FEASIBLE, STATIONARY, Design
from softpenalty import minimize
from softpenalty.solve.status import Status

SAMPLE, STARTS = 10, 100
REQUIRED = 0.98  # share solved


@dataclass(frozen=True)
class Run:
    """One solve and what is true of its point."""

    seed: int
    solved: bool
    claimed: bool
    status: str
    false_claim: str  # "" where there is none
    objective: float
    evaluations: int


def run(design: Design, seed: int) -> Run:
    """Solve from one start, warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = minimize(x0=design.start(seed), **design.arguments)
    claimed, solved, false_claim = bool(result.success), design.solved(result.x), ""
    if result.status == Status.INFEASIBLE.number:
        false_claim = "infeasible"
    elif claimed and design.violation(result.x) > FEASIBLE:
        false_claim = f"success at a violation of {design.violation(result.x):.0e}"
    elif claimed and not solved and design.stationarity(result.x) > STATIONARY:
        false_claim = f"success at a residual of {design.stationarity(result.x):.0e}"
    status = result.message.split(":")[0]
    return Run(seed, solved, claimed, status, false_claim, float(result.fun), result.nfev)


def check(design: Design, seeds: range) -> None:
    """Assert all that is promised."""
    runs = [run(design, seed) for seed in seeds]
    assert not [r for r in runs if r.false_claim]
    missed = [r for r in runs if not r.solved]
    assert len(missed) <= (1.0 - REQUIRED) * len(runs), missed


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_sample(design):
    check(design, range(SAMPLE))


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_all_starts(design):
    check(design, range(STARTS))


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_best_designs_are_what_the_judge_takes_them_for(design):
    # the solutions are written with nine digits
    rough = 1e-6
    assert design.fun(design.solution) == pytest.approx(design.best, rel=rough)
    assert design.violation(design.solution) <= rough
    assert design.stationarity(design.solution) <= STATIONARY
    for seed in range(20):
        start = design.start(seed)
        assert not design.solved(start)
        assert design.violation(start) > FEASIBLE or design.stationarity(start) > STATIONARY


def main() -> None:
    """Print a table, or one solve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("design", nargs="?", choices=[design.name for design in DESIGNS])
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--starts", type=int, default=STARTS)
    options = parser.parse_args()
    chosen = [design for design in DESIGNS if options.design in (None, design.name)]
    if options.seed is not None:
        result = minimize(x0=chosen[0].start(options.seed), **chosen[0].arguments)
        print(f"start {chosen[0].start(options.seed)}")
        for row in result.history:
            print("  ".join(f"{k} {row[k]:.6g}" for k in ("nit", "fun", "maxcv", "stationarity", "step")))
        print(result, result.kkt, run(chosen[0], options.seed), sep="\n")
        return
    print(f"{'design':17}{'solved %':>9}{'claimed %':>10}{'false claims':>13}{'nfev (mean)':>12}  not solved")
    for design in chosen:
        runs = [run(design, seed) for seed in range(options.starts)]
        print(
            f"{design.name:17}{100 * np.mean([r.solved for r in runs]):9.1f}"
            f"{100 * np.mean([r.claimed for r in runs]):10.1f}{sum(bool(r.false_claim) for r in runs):13}"
            f"{np.mean([r.evaluations for r in runs]):12.0f}  "
            + "; ".join(
                f"{r.seed} {r.status} {r.objective:.6g} {r.false_claim}" for r in runs if not r.solved
            )
        )


if __name__ == "__main__":
    main()
