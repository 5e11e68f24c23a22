"""Before and after on the Hock-Schittkowski problems: scaled, and from perturbed starts.

    python -m benchmarks.robustness --save before.json      # measure
    python -m benchmarks.robustness --baseline before.json  # measure again and compare
    python -m benchmarks.robustness --best                  # find the best values again (needs the peers)

Every problem is solved by the default method with exact first derivatives: as it is, in the scaled variants
of `problems`, and from starts perturbed by 10 % and by 100 %, three seeds each. The judge is that of the
benchmark; the best values are fixed in ``best_values.json``, so that two runs can be compared.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from . import judge
from .peers.scipy_solvers import bounds, constraints
from .problems import HOCK_SCHITTKOWSKI, MAX_EVALUATIONS, MAX_SECONDS, VARIANTS, OutOfBudget, load
from .worker import solve as solve_with

BEST = Path(__file__).with_name("best_values.json")
BEST_SOLVERS = ("softpenalty", "slsqp", "ipopt")
SEEDS = (0, 1, 2)
STARTS = {f"start ± {100 * share:.0f} % ({seed})": (share, seed) for share in (0.1, 1.0) for seed in SEEDS}
CASES = (*VARIANTS, *STARTS)
INFEASIBLE = 3  # of `result.status`

Record = dict[str, Any]


def perturbed(x0: np.ndarray, xl: np.ndarray, xu: np.ndarray, share: float, seed: list[int]) -> np.ndarray:
    """A start whose entries are off by up to a share of their size, or of 1 where they are 0."""
    random = np.random.default_rng(seed)
    size = np.where(x0 == 0.0, 1.0, x0)
    return np.clip(x0 + share * random.uniform(-1, 1, x0.size) * size, xl, xu)


def solve(name: str, case: str, best: float) -> Record:
    """Solve one problem in one case and judge the point on the plain problem."""
    import softpenalty

    problem = load(name, case if case in VARIANTS else "plain")
    if case in STARTS:
        share, seed = STARTS[case]
        problem.x0 = perturbed(problem.x0, problem.xl, problem.xu, share, [seed, *name.encode()])
    problem.start(MAX_EVALUATIONS, MAX_SECONDS)
    claimed, status, message, x = False, -1, "", problem.x0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = softpenalty.minimize(
                problem.fun,
                problem.x0,
                jac=problem.grad,
                bounds=bounds(problem),
                constraints=constraints(problem),
            )
        claimed, status, message, x = bool(result.success), int(result.status), result.message, result.x
    except OutOfBudget:
        message, x = "out of evaluations or time", problem.last
    except Exception as error:
        message, x = f"crash: {type(error).__name__}: {error}", problem.last
    nfev, njev = problem.nfev, problem.njev
    point = judge.measure(load(name), x)
    return {
        "solved": judge.solved(point, best, judge.TOLERANCES[0]),
        "claimed": claimed,
        "stationary": claimed
        and point.violation <= judge.FEASIBLE
        and point.stationarity <= judge.STATIONARY,
        "false success": judge.false_success(claimed, point, best),
        "false infeasible": status == INFEASIBLE and bool(np.isfinite(best)),
        "crash": message.startswith("crash"),
        "nfev": nfev,
        "njev": njev,
        "status": message.split(":")[0],
        "why": "" if judge.solved(point, best, judge.TOLERANCES[0]) else judge.failure(point, best),
    }


def solve_all(task: tuple[str, tuple[str, ...], float]) -> dict[str, Record]:
    """One problem in all cases."""
    name, cases, best = task
    return {case: solve(name, case, best) for case in cases}


def find_best(name: str) -> float:
    """The best value that three solvers find for the plain problem."""
    found = [solve_with(name, "plain", solver) for solver in BEST_SOLVERS]
    points = [judge.Measure(r["objective"], r["violation"], r["stationarity"]) for r in found]
    return judge.best_objective(name, points)


def compare(records: dict[str, Record], before: dict[str, Record]) -> str:
    """Ratios of evaluations on what is solved both times, and what was gained and lost."""
    both = [name for name in records if name in before and records[name]["solved"] and before[name]["solved"]]
    parts = []
    for key in ("njev", "nfev"):
        new = np.array([records[name][key] for name in both], dtype=float)
        old = np.array([before[name][key] for name in both], dtype=float)
        ratio = np.exp(np.mean(np.log(np.maximum(new, 1) / np.maximum(old, 1)))) if both else np.nan
        parts.append(f"{key} ×{new.sum() / max(old.sum(), 1):.3f} (mean ×{ratio:.3f})")
    gained = [n for n in records if n in before and records[n]["solved"] and not before[n]["solved"]]
    lost = [n for n in records if n in before and not records[n]["solved"] and before[n]["solved"]]
    changed = [f"+{name}" for name in gained] + [f"−{name}" for name in lost]
    return f"{', '.join(parts)}  {' '.join(changed)}"


def table(results: dict[str, dict[str, Record]], baseline: dict[str, dict[str, Record]]) -> str:
    """One line a case, then everything that is false."""
    counts = ("solved", "claimed", "stationary", "false success", "false infeasible", "crash")
    lines = [f"{'case':18}" + "".join(f"{title:>17}" for title in (*counts, "njev", "nfev"))]
    for case, records in results.items():
        sums = [sum(record[key] for record in records.values()) for key in (*counts, "njev", "nfev")]
        lines.append(f"{case:18}" + "".join(f"{number:17}" for number in sums))
        if case in baseline:
            lines.append(f"{'':18}  {compare(records, baseline[case])}")
    lines.append("\nfalse or not solved")
    for case, records in results.items():
        for name, r in records.items():
            flags = [flag for flag in counts[3:] if r[flag]]
            if flags or not r["solved"]:
                lines.append(f"{case:18} {name:6} {r['status']:20.20} {r['why']}  {', '.join(flags).upper()}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cases", default=",".join(CASES), help="separated by commas")
    parser.add_argument("--names", default=",".join(HOCK_SCHITTKOWSKI), help="separated by commas")
    parser.add_argument("--baseline", type=Path, help="compare with this")
    parser.add_argument("--save", type=Path, help="write the records here")
    parser.add_argument("--best", action="store_true", help=f"write {BEST.name} anew and stop")
    options = parser.parse_args()
    names, cases = options.names.split(","), tuple(options.cases.split(","))
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        if options.best:
            best = dict(zip(HOCK_SCHITTKOWSKI, pool.map(find_best, HOCK_SCHITTKOWSKI), strict=True))
            BEST.write_text(json.dumps(best, indent=1) + "\n")
            return
        best = json.loads(BEST.read_text())
        found = dict(zip(names, pool.map(solve_all, [(n, cases, best[n]) for n in names]), strict=True))
    results = {case: {name: found[name][case] for name in names} for case in cases}
    if options.save:
        options.save.write_text(json.dumps(results, indent=1) + "\n")
    baseline = json.loads(options.baseline.read_text()) if options.baseline else {}
    print(table(results, baseline))


if __name__ == "__main__":
    main()
