"""`softpenalty.search` beside other global methods on 41 problems with known best values: benchmarks/SEARCH.md.

    python -m benchmarks.search                      # what is not on file yet, then the page
    python -m benchmarks.search --budget 100000      # the long runs too
    python -m benchmarks.search --methods search --problems g01,bird --seeds 1
    python -m benchmarks.search --page               # the page alone

No gradients; evaluations of (objective, constraints) are counted, a point once. Success is a point evaluated
that violates nothing by more than 1e-6 and whose objective is within 1e-4 of the best known. A run ends there,
so one run tells for every smaller budget. Records are kept, one line each: an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import softpenalty
from benchmarks import search_page
from benchmarks.records import append, writing
from benchmarks.search_problems import G20, PROBLEMS, SearchProblem, turned
from benchmarks.search_problems.counting import Counted, Over
from benchmarks.search_problems.methods import METHODS

HERE = Path(__file__).parent
RECORDS = HERE / "records" / "search.jsonl"
PAGE = HERE / "SEARCH.md"
BUDGET = 20_000
TURNED_BUDGET = 30_000
TURNED = range(3)
SEEDS = 5
SECONDS = 60.0  # a run may take; shgo triangulates in as many dimensions as there are variables
LAYERS = ("formulas", "problem", "solve", "multistart")
SHOWS = (
    "result.py",
    "report.py",
    "plot.py",
    "progress.py",
    "crew.py",
    "checkpoint.py",
    "search.py",
)  # no decision
OURS = ("search", "Sobol loop around minimize", "stop")


def version(method: str) -> str:
    """What makes records of ours obsolete: a digest of what decides which points are evaluated."""
    if method not in OURS:
        return "-"
    library, digest = Path(softpenalty.__file__).parent, hashlib.sha256()
    for layer in LAYERS:
        for path in sorted((library / layer).rglob("*.py")):
            if path.name not in SHOWS:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what takes longer."""

    def over(*_: Any) -> None:
        raise Over

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def run(method: str, problem: SearchProblem, seed: int, budget: int) -> dict[str, Any]:
    """One method on one problem until it reaches the best value or the budget is spent."""
    counted, start, failure = Counted(problem, budget), time.perf_counter(), None
    try:
        with limited(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            METHODS[method](counted, seed)
    except Over:
        pass
    except Exception as error:  # a peer that gives up has not reached it
        failure = f"{type(error).__name__}: {error}"[:200]
    seconds = time.perf_counter() - start
    return {"hit": counted.hit, "nfev": counted.nfev, "seconds": round(seconds, 2), "failure": failure}


def stop(problem: SearchProblem, seed: int, budget: int) -> dict[str, Any]:
    """How `search` ends where it is to stop by its estimate."""
    counted, start = Counted(problem, np.inf, until_reached=False), time.perf_counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = softpenalty.search(
            counted.fun, counted.bounds, counted.constraints(), maxfev=budget, max_time=SECONDS, rng=seed
        )
    return {
        "stopped": result.stop.name,
        "best_in_hand": bool(problem.name != "g20" and problem.reached(*problem.measure(result.x))),
        "success": bool(result.success),
        "fun": float(result.fun),
        "solves": result.solves,
        "aborted": result.aborted,
        "nfev": result.nfev,
        "seconds": round(time.perf_counter() - start, 2),
    }


def plan(methods: list[str], names: list[str], seeds: int, budget: int) -> Iterator[dict[str, Any]]:
    """All runs, as keys of records; ours first."""
    for method in methods:
        for seed in range(1 if method == "shgo" else seeds):
            for name in names:
                yield {"method": method, "problem": name, "seed": seed, "budget": budget}
        if method == "search":
            for seed in TURNED:
                yield {"method": method, "problem": f"turned {seed}", "seed": seed, "budget": TURNED_BUDGET}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--methods", default=",".join([*METHODS, "stop"]), help="names, or part of them")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--page", action="store_true", help="write the page from the records alone")
    chosen = parser.parse_args()
    asked = chosen.methods.split(",")
    methods = [name for name in [*METHODS, "stop"] if any(name.startswith(part) for part in asked)]
    names = chosen.problems.split(",")
    with writing(chosen.records) as records:
        done = {_key(record) for record in records}
        for task in [] if chosen.page else plan(methods, names, chosen.seeds, chosen.budget):
            task["version"] = version(task["method"])
            if _key(task) in done:
                continue
            name = task["problem"]
            problem = turned(task["seed"]) if name.startswith("turned") else PROBLEMS[name]
            if task["method"] == "stop":
                outcome = stop(problem, task["seed"], task["budget"])
            else:
                outcome = run(task["method"], problem, task["seed"], task["budget"])
            append(chosen.records, {**task, **outcome})
            records.append({**task, **outcome})
        if not chosen.page and "stop" in methods and set(names) == set(PROBLEMS):
            task = {"method": "stop", "problem": "g20", "seed": 0, "budget": chosen.budget}
            task["version"] = version("stop")
            if _key(task) not in done:
                record = {**task, **stop(G20, 0, chosen.budget)}
                append(chosen.records, record)
                records.append(record)
    current = {method: version(method) for method in [*METHODS, "stop"]}
    kept = [record for record in records if record["version"] == current[record["method"]]]
    if set(names) == set(PROBLEMS):
        PAGE.write_text(search_page.page(kept, PROBLEMS), encoding="utf-8")
        print(f"{PAGE} written from {len(kept)} records")


def _key(record: dict[str, Any]) -> tuple:
    return tuple(record[name] for name in ("method", "problem", "seed", "budget", "version"))


if __name__ == "__main__":
    main()
