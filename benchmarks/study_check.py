"""How often the study's check is right: faithful studies of many seeds, and studies with a mistake in them.

Each mistake is one that a repetition of the paper may well make. All are run on the same problems as the
faithful study; only the configurations they touch are computed again. A seed takes about 40 CPU-seconds at
100 samples, nearly all of it for N ≥ 20.

    python -m benchmarks.study_check                             # 20 seeds, 100 samples, all dimensions
    python -m benchmarks.study_check --seeds 5 --dimensions 2 3 5
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from softpenalty.study.compute.chunks import compute, plan
from softpenalty.study.design.experiments import DIMENSIONS, Configuration, Experiment, choose
from softpenalty.study.design.settings import Settings
from softpenalty.study.judge.agreement import LEVEL, Agreement
from softpenalty.study.judge.facts import Facts
from softpenalty.study.records import RECORDS_NAME, Records, Trial

FAITHFUL = "faithful"


def _scaled_alpha(kernel: str, factor: float) -> Callable[[Configuration], Configuration]:
    return lambda c: replace(c, alpha=factor * c.alpha) if c.kernel == kernel else c


def _norm_as_sum(c: Configuration) -> Configuration:
    return replace(c, combination="sum")


MISTAKES: dict[str, Callable[[Experiment], Experiment]] = {
    # α·ln(1 + e^(x/α)) is the paper's formula, with logarithms to base 2, at α·ln 2
    "softplus with natural logarithms": lambda e: _changed(e, _scaled_alpha("softplus", math.log(2.0))),
    # (√(x² + α²) + x)/2 is the paper's formula, with 4α², at α/2
    "algebraic with α² for 4α²": lambda e: _changed(e, _scaled_alpha("algebraic", 0.5)),
    "sum of the terms for their norm": lambda e: _changed(e, _norm_as_sum),
    "exact gradients for differences": lambda e: replace(e, method="exact") if e.name == "spheres" else e,
}


def _changed(experiment: Experiment, change: Callable[[Configuration], Configuration]) -> Experiment:
    return replace(experiment, configurations=tuple(map(change, experiment.configurations)))


def verdicts(seed: int, samples: int, dimensions: Sequence[int]) -> Iterator[tuple[str, Agreement]]:
    """The agreement of a faithful study with the paper, then that of each mistake."""
    experiments = choose(["planes", "spheres"], dimensions, None)
    right = _trials(experiments, seed, samples)
    yield FAITHFUL, _judged(right.values())
    for name, mistake in MISTAKES.items():
        yield name, _judged((right | _trials(map(mistake, experiments), seed, samples, experiments)).values())


def _trials(experiments, seed: int, samples: int, known: Sequence[Experiment] = ()) -> dict[tuple, Trial]:
    """Trials by cell and problem, without those of configurations that are `known` to be computed already."""
    before = {(e.name, e.method, c) for e in known for c in e.configurations}
    wanted = []
    for experiment in experiments:
        new = tuple(
            c for c in experiment.configurations if (experiment.name, experiment.method, c) not in before
        )
        if new:
            wanted.append(replace(experiment, configurations=new))
    chunks = plan(wanted, Settings(seed), samples, {})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [trial for result in pool.map(compute, chunks) for trial in result.trials]
    return {(t.kind, t.dimension, t.problem, t.configuration): t for t in found}


def _judged(trials) -> Agreement:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"seed": 0, "problems": "published", "engine": "numba", "samples": 0}
        with Records.create(Path(folder) / RECORDS_NAME, **settings) as records:
            records.append(trials)
            return Facts(records).agreement


def main() -> None:
    """Print a line a study, and how many of each kind pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--dimensions", type=int, nargs="+", default=list(DIMENSIONS))
    asked = parser.parse_args()
    passed = dict.fromkeys([FAITHFUL, *MISTAKES], 0)
    print("| seed | study | largest | chance | squares | chance | passes |\n|--:|---|--:|--:|--:|--:|---|")
    for seed in range(1, asked.seeds + 1):
        for name, found in verdicts(seed, asked.samples, asked.dimensions):
            passed[name] += found.holds
            print(
                f"| {seed} | {name} | {found.largest:.1f} | {100 * found.largest_chance:.2g} % | "
                f"{found.total:.0f} | {100 * found.total_chance:.2g} % | {'yes' if found.holds else 'no'} |",
                flush=True,
            )
    for name, count in passed.items():
        print(f"{name}: {count} of {asked.seeds} studies pass")
    print(f"A faithful study should fail with a probability of {100 * LEVEL:g} %.")


if __name__ == "__main__":
    main()
