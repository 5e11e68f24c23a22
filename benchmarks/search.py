"""`softpenalty.search` beside other global methods on 41 problems with known best values: SEARCH.md.

    python -m benchmarks.search                      # what is not on file yet, then the page
    python -m benchmarks.search --budget 100000      # the long runs too
    python -m benchmarks.search --methods search --problems g01,bird --seeds 1
    python -m benchmarks.search --page               # the page alone

No gradients; evaluations of (objective, constraints) are counted, a point once. Success is a point evaluated
that violates nothing by more than 1e-6 and whose objective is within 1e-4 of the best known. A run ends
there, so one run tells for every smaller budget. Records are kept, one line each: an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import resource
import time
import warnings
from collections.abc import Iterator
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
STOP_BUDGET = 10_000  # where the search is to stop by itself
TURNED = range(3)
SEEDS = 5
SECONDS = {"shgo": 5}  # it triangulates in as many dimensions as there are variables, and does not end
TIME_UP = "its time was up"
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


def run(method: str, problem: SearchProblem, seed: int, budget: int) -> dict[str, Any]:
    """One method on one problem until it reaches the best value or the budget is spent."""
    counted, start, failure = Counted(problem, budget), time.process_time(), None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            METHODS[method](counted, seed)
    except Over:
        pass
    except Exception as error:  # a peer that gives up has not reached it
        if method in OURS:
            raise
        failure = f"{type(error).__name__}: {error}"[:200]
    seconds = round(time.process_time() - start, 2)
    return {"hit": counted.hit, "nfev": counted.nfev, "seconds": seconds, "failure": failure}


def run_apart(method: str, problem: SearchProblem, seed: int, budget: int) -> dict[str, Any]:
    """The same in a process that ends when its time is up, whatever it is at."""
    context = multiprocessing.get_context("fork")
    answer, theirs = context.Pipe(duplex=False)

    def child() -> None:
        seconds = SECONDS[method]
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        theirs.send(run(method, problem, seed, budget))

    process = context.Process(target=child)
    process.start()
    theirs.close()
    try:
        outcome = answer.recv()
    except EOFError:
        outcome = {"hit": None, "nfev": 0, "seconds": SECONDS[method], "failure": TIME_UP}
    process.join()
    return outcome


def stop(problem: SearchProblem, seed: int, budget: int) -> dict[str, Any]:
    """How `search` ends where it is to stop by its estimate."""
    counted, start = Counted(problem, np.inf, until_reached=False), time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = softpenalty.search(
            counted.fun, counted.bounds, counted.constraints(), maxfev=budget, rng=seed
        )
    return {
        "stopped": result.stop.name,
        "best_in_hand": problem.reached(*problem.measure(result.x)),
        "success": bool(result.success),
        "fun": float(result.fun),
        "solves": result.solves,
        "aborted": result.aborted,
        "nfev": result.nfev,
        "seconds": round(time.process_time() - start, 2),
    }


def plan(methods: list[str], names: list[str], seeds: int, budget: int) -> Iterator[dict[str, Any]]:
    """All runs, as keys of records; ours first."""
    for method in methods:
        limit = STOP_BUDGET if method == "stop" else budget
        for seed in range(1 if method == "shgo" else seeds):  # shgo has no seed
            for name in [*names, "g20"] if method == "stop" and seed == 0 else names:
                yield {"method": method, "problem": name, "seed": seed, "budget": limit}
        if method == "search":
            for seed in TURNED:
                yield {"method": method, "problem": f"turned {seed}", "seed": seed, "budget": TURNED_BUDGET}


def compute(task: dict[str, Any]) -> dict[str, Any]:
    """The record of a run."""
    name, seed = task["problem"], task["seed"]
    problem = G20 if name == "g20" else turned(seed) if name.startswith("turned") else PROBLEMS[name]
    if task["method"] == "stop":
        return {**task, **stop(problem, seed, task["budget"])}
    how = run_apart if task["method"] in SECONDS else run
    return {**task, **how(task["method"], problem, seed, task["budget"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--methods", default=",".join([*METHODS, "stop"]), help="names, or how they begin")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--page", action="store_true", help="write the page from the records alone")
    chosen = parser.parse_args()
    asked, names = chosen.methods.split(","), chosen.problems.split(",")
    methods = [name for name in [*METHODS, "stop"] if any(name.startswith(part) for part in asked)]
    current = {method: version(method) for method in [*METHODS, "stop"]}
    with writing(chosen.records) as records:
        done = {_key(record) for record in records}
        for task in [] if chosen.page else plan(methods, names, chosen.seeds, chosen.budget):
            task["version"] = current[task["method"]]
            if _key(task) not in done:
                records.append(compute(task))
                append(chosen.records, records[-1])
    if set(names) == set(PROBLEMS):
        kept = [record for record in records if record["version"] == current[record["method"]]]
        PAGE.write_text(search_page.page(kept, PROBLEMS), encoding="utf-8")
        print(f"{PAGE}: written from {len(kept)} records")


def _key(record: dict[str, Any]) -> tuple:
    return tuple(record[name] for name in ("method", "problem", "seed", "budget", "version"))


if __name__ == "__main__":
    main()
