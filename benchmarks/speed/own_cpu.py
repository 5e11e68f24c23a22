"""CPU time that solvers need for themselves, the user's functions aside: written to benchmarks/SPEED.md.

Every function of a problem is remembered in a dictionary, and a warming solve fills it, so that in the timed
solves that follow a call costs a look-up whichever solver makes it. The solvers take turns on each problem in
one process with one BLAS thread; a solver's time on it is the shortest of its turns, in CPU time, and ratios
are geometric means over the problems that all solvers compared solve (`benchmarks.judge`, at 1e-5).

    python -m benchmarks.speed.own_cpu                  # everything, and the page
    python -m benchmarks.speed.own_cpu --only hs        # one part, printed only: hs, sizes, large, parts
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import nlopt
import numpy as np
from scipy.optimize import Bounds, minimize

import softpenalty
from benchmarks import judge, problems

PAGE = Path(__file__).parents[1] / "SPEED.md"
BEST = json.loads((Path(__file__).parents[1] / "best_values.json").read_text())
SLOW = {"HS88", "HS89", "HS90", "HS91", "HS92"}  # seconds a call, whichever solver makes it
TURNS = 7
FTOL = 1e-10  # of the SLSQPs, as in RESULTS.md
SIZES = (50, 100, 200, 300)
Solve = Callable[[], np.ndarray]


def remembered(function: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    """``function`` as a look-up once it was called at a point."""
    known: dict[bytes, Any] = {}

    def look_up(x: np.ndarray) -> Any:
        key = x.tobytes()
        if key not in known:
            known[key] = function(x.copy())
        return known[key]

    return look_up


class Remembered:
    """A problem of the collection as solvers get it here: rows in two blocks, all functions remembered."""

    def __init__(self, problem: problems.Problem) -> None:
        self.problem = problem
        self.x0 = np.clip(problem.x0, problem.xl, problem.xu)
        self.xl, self.xu = problem.xl, problem.xu
        self.fun, self.grad = remembered(problem.fun), remembered(problem.grad)
        self.blocks = [
            (
                kind,
                remembered(lambda x, r=rows: problem.con(x)[r]),
                remembered(lambda x, r=rows: problem.jac(x)[r]),
            )
            for kind, rows in (("eq", problem.equality), ("ineq", ~problem.equality))
            if rows.any()
        ]

    @property
    def bounds(self) -> Bounds | None:
        free = np.isinf(self.xl).all() and np.isinf(self.xu).all()
        return None if free else Bounds(self.xl, self.xu)

    def dictionaries(self) -> list[dict[str, Any]]:
        """The rows as SciPy's dictionaries, where "ineq" means ≥ 0."""
        found = []
        for kind, fun, jac in self.blocks:
            if kind == "ineq":
                fun, jac = remembered(lambda x, f=fun: -f(x)), remembered(lambda x, j=jac: -j(x))
            found.append({"type": kind, "fun": fun, "jac": jac})
        return found


def ours(p: Remembered) -> Solve:
    """softpenalty.minimize."""
    rows, bounds = p.dictionaries(), p.bounds
    return lambda: softpenalty.minimize(p.fun, p.x0, jac=p.grad, bounds=bounds, constraints=rows).x


def slsqp(p: Remembered) -> Solve:
    """SciPy's SLSQP in its native form."""
    rows, bounds, options = p.dictionaries(), p.bounds, {"ftol": FTOL, "maxiter": 1000}
    return lambda: (
        minimize(p.fun, p.x0, jac=p.grad, bounds=bounds, constraints=rows, method="SLSQP", options=options).x
    )


def lbfgsb(p: Remembered) -> Solve:
    """SciPy's L-BFGS-B, for problems without rows."""
    options = {"ftol": 1e-15, "gtol": 1e-6, "maxiter": 100_000, "maxfun": 100_000}
    return lambda: minimize(p.fun, p.x0, jac=p.grad, bounds=p.bounds, method="L-BFGS-B", options=options).x


def nlopt_slsqp(p: Remembered) -> Solve:
    """NLopt's SLSQP."""

    def objective(x: np.ndarray, gradient: np.ndarray) -> float:
        if gradient.size:
            gradient[:] = p.grad(x)
        return p.fun(x)

    def rows(fun: Callable, jac: Callable) -> Callable:
        def evaluate(result: np.ndarray, x: np.ndarray, gradient: np.ndarray) -> None:
            if gradient.size:
                gradient[:] = jac(x)
            result[:] = fun(x)

        return evaluate

    def solve() -> np.ndarray:
        optimizer = nlopt.opt(nlopt.LD_SLSQP, p.x0.size)
        optimizer.set_min_objective(objective)
        optimizer.set_lower_bounds(p.xl)
        optimizer.set_upper_bounds(p.xu)
        for kind, fun, jac in p.blocks:
            add = optimizer.add_equality_mconstraint if kind == "eq" else optimizer.add_inequality_mconstraint
            add(rows(fun, jac), np.full(fun(p.x0).size, 1e-8))
        optimizer.set_ftol_rel(FTOL)
        optimizer.set_ftol_abs(FTOL)
        optimizer.set_maxeval(10_000)
        return optimizer.optimize(p.x0)

    return solve


def in_turns(solves: dict[str, Solve], turns: int = TURNS) -> dict[str, tuple[float, np.ndarray | None]]:
    """Shortest CPU time of each, after a warming solve, and the point found (None where it raised)."""
    points: dict[str, np.ndarray | None] = {}
    for name, solve in solves.items():
        try:
            points[name] = np.array(solve())
        except Exception:  # NLopt has exceptions of its own that share no base
            points[name] = None
    shortest = dict.fromkeys(solves, np.inf)
    for _ in range(turns):
        for name, solve in solves.items():
            if points[name] is None:
                continue
            start = time.process_time()
            solve()
            shortest[name] = min(shortest[name], time.process_time() - start)
    return {name: (shortest[name], points[name]) for name in solves}


def ratio(times: list[dict[str, float]], one: str, other: str) -> float:
    """Geometric mean of the ratio of two solvers' times."""
    return float(np.exp(np.mean([np.log(t[one] / t[other]) for t in times])))


def hock_schittkowski(turns: int = TURNS, names: list[str] | None = None) -> tuple[list[str], dict[str, Any]]:
    """Lines of a table and the figures in it."""
    common: dict[str, list[dict[str, float]]] = {"SciPy's SLSQP": [], "NLopt's SLSQP": []}
    own = {}
    for name in names or [n for n in problems.HOCK_SCHITTKOWSKI if n not in SLOW]:
        plain = problems.load(name)
        p = Remembered(plain)
        found = in_turns({"ours": ours(p), "SciPy's SLSQP": slsqp(p), "NLopt's SLSQP": nlopt_slsqp(p)}, turns)
        solved = {}
        for solver, (_, x) in found.items():
            point = judge.measure(plain, x) if x is not None else None
            solved[solver] = point is not None and judge.solved(point, BEST.get(name, np.inf), 1e-5)
        own[name] = {solver: seconds for solver, (seconds, _) in found.items()}
        for peer, times in common.items():
            if solved["ours"] and solved[peer]:
                times.append(own[name])
    figures = {peer: (ratio(times, "ours", peer), len(times)) for peer, times in common.items()}
    lines = ["| against | problems solved by both | own CPU, ours / theirs |", "|---|--:|--:|"]
    lines += [f"| {peer} | {count} | {value:.2f} |" for peer, (value, count) in figures.items()]
    return lines, {"figures": figures, "own": own}


def sizes(turns: int = 3) -> list[str]:
    """The chain problem for growing n."""
    lines = ["| n | ours, ms | SciPy's SLSQP, ms | ratio |", "|--:|--:|--:|--:|"]
    for n in SIZES:
        p = Remembered(problems.load(f"CHAIN-{n}"))
        found = in_turns({"ours": ours(p), "slsqp": slsqp(p)}, turns)
        mine, theirs = found["ours"][0], found["slsqp"][0]
        lines.append(f"| {n} | {1e3 * mine:.1f} | {1e3 * theirs:.1f} | {mine / theirs:.2f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("hs", "sizes", "large", "parts"))
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", type=Path, help="where to write the times of each problem")
    arguments = parser.parse_args()
    if arguments.only in (None, "hs"):
        lines, found = hock_schittkowski(arguments.turns)
        print("\n".join(lines))
        if arguments.json:
            arguments.json.write_text(json.dumps(found["own"], indent=1))
    if arguments.only in (None, "sizes"):
        print("\n".join(sizes()))


if __name__ == "__main__":
    main()
