"""CPU time that solvers need for themselves, the user's functions aside: written to benchmarks/SPEED.md.

Every function of a problem is remembered in a dictionary, and a warming solve fills it, so that in the timed
solves that follow a call costs a look-up whichever solver makes it. The solvers take turns on each problem in
one process with one BLAS thread; a solver's time on it is the shortest of its turns, in CPU time, and ratios
are geometric means over the problems that all solvers compared solve (`benchmarks.judge`, at 1e-5).

    python -m benchmarks.speed.own_cpu                  # everything, and the page
    python -m benchmarks.speed.own_cpu --only hs        # one part, printed only: hs, sizes, parts, large or
                                                        # gradients
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import nlopt
import numpy as np
import scipy
from scipy.optimize import Bounds, minimize, rosen, rosen_der

import softpenalty.core
from benchmarks import judge, problems, scalable
from benchmarks.peers import ipopt
from softpenalty.solve.sqp import method

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
    options = {"maxiter": 100_000} if p.x0.size > 300 else {}
    return lambda: (
        softpenalty.minimize(p.fun, p.x0, jac=p.grad, bounds=bounds, constraints=rows, options=options).x
    )


def slsqp(p: Remembered) -> Solve:
    """SciPy's SLSQP in its native form."""
    rows, bounds, options = (
        p.dictionaries(),
        p.bounds,
        {"ftol": FTOL, "maxiter": 1000 if p.x0.size < 500 else 100_000},
    )
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


def hock_schittkowski(turns: int = TURNS) -> list[str]:
    """Lines of a table."""
    common: dict[str, list[dict[str, float]]] = {"SciPy's SLSQP": [], "NLopt's SLSQP": []}
    for name in [n for n in problems.HOCK_SCHITTKOWSKI if n not in SLOW]:
        plain = problems.load(name)
        p = Remembered(plain)
        found = in_turns({"ours": ours(p), "SciPy's SLSQP": slsqp(p), "NLopt's SLSQP": nlopt_slsqp(p)}, turns)
        solved = {}
        for solver, (_, x) in found.items():
            point = judge.measure(plain, x) if x is not None else None
            solved[solver] = point is not None and judge.solved(point, BEST.get(name, np.inf), 1e-5)
        own = {solver: seconds for solver, (seconds, _) in found.items()}
        for peer, times in common.items():
            if solved["ours"] and solved[peer]:
                times.append(own)
    figures = {peer: (ratio(times, "ours", peer), len(times)) for peer, times in common.items()}
    lines = ["| against | problems solved by both | own CPU, ours / theirs |", "|---|--:|--:|"]
    lines += [f"| {peer} | {count} | {value:.2f} |" for peer, (value, count) in figures.items()]
    return lines


def sizes(turns: int = 3) -> list[str]:
    """The chain problem for growing n."""
    lines = ["| n | ours, ms | SciPy's SLSQP, ms | ratio |", "|--:|--:|--:|--:|"]
    for n in SIZES:
        p = Remembered(problems.load(f"CHAIN-{n}"))
        found = in_turns({"ours": ours(p), "slsqp": slsqp(p)}, turns)
        mine, theirs = found["ours"][0], found["slsqp"][0]
        lines.append(f"| {n} | {1e3 * mine:.1f} | {1e3 * theirs:.1f} | {mine / theirs:.2f} |")
    return lines


def set_up_and_result(turns: int = 300) -> list[str]:
    """What is done once a solve, measured as all that is not in the iterations."""
    p = Remembered(problems.load("HS35"))
    solve = ours(p)
    solve()
    inside, whole = [], []
    attempts = method.run_attempts

    def timed(*arguments: Any) -> Any:
        start = time.process_time()
        ending = attempts(*arguments)
        inside.append(time.process_time() - start)
        return ending

    method.run_attempts = timed
    try:
        for _ in range(turns):
            start = time.process_time()
            solve()
            whole.append(time.process_time() - start)
    finally:
        method.run_attempts = attempts
    outside = np.subtract(whole, inside)
    return [
        f"Set-up and result together, the first evaluation included: {1e6 * outside.min():.0f} µs of "
        f"{1e6 * min(whole):.0f} µs on HS35 (shortest of {turns} solves)."
    ]


def large_source(kind: str, n: int) -> SimpleNamespace:
    """A problem of n variables: "chain", "rosenbrock" without rows or in a "box", or "qp" with n rows."""
    if kind == "chain":
        return problems.chain(n)
    free, none = np.full(n, np.inf), np.empty((0, n))
    counts = {"m_linear_eq": 0, "m_linear_ub": 0, "m_nonlinear_eq": 0, "m_nonlinear_ub": 0}
    common = {"name": kind, "n": n, "xl": -free, "xu": free, "aeq": none, "beq": np.empty(0), **counts}
    if kind == "rosenbrock":
        x0 = np.where(np.arange(n) % 2 == 0, -1.2, 1.0)
        return SimpleNamespace(x0=x0, aub=none, bub=np.empty(0), fun=rosen, grad=rosen_der, **common)
    if kind == "box":  # every variable ends at a bound or depends on one that does
        common["xl"], common["xu"] = np.full(n, -1.5), np.full(n, 0.9)
        x0 = np.where(np.arange(n) % 2 == 0, -1.0, 0.8)
        return SimpleNamespace(x0=x0, aub=none, bub=np.empty(0), fun=rosen, grad=rosen_der, **common)
    random = np.random.default_rng(0)
    M = random.normal(size=(n, n)) / np.sqrt(n)
    H, q = M @ M.T + np.eye(n), 3.0 * random.normal(size=n)
    A, b = random.normal(size=(n, n)) / np.sqrt(n), 0.5 * np.abs(random.normal(size=n))
    common["m_linear_ub"] = n
    return SimpleNamespace(
        x0=np.zeros(n),
        aub=A,
        bub=b,
        fun=lambda x: 0.5 * x @ H @ x + q @ x,
        grad=lambda x: H @ x + q,
        **common,
    )


def one_large(kind: str, n: int, solver: str) -> dict[str, float]:
    """Own CPU time of one solve, and what the judge measures at its point."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT))
    for size in (WARMING, n):  # what a first call imports is no part of the solve
        problem = problems.Problem(large_source(kind, size))
        p = Plain(problem)
        start = time.process_time()
        x = ipopt.solve(problem).x if solver == "IPOPT" else LARGE_SOLVERS[solver](p)()
        own = time.process_time() - start - problem.seconds
    point = judge.measure(problem, np.asarray(x))
    return {"own": own, "f": point.objective, "violation": point.violation, "gradients": problem.njev}


def large() -> list[str]:
    """Problems of hundreds of variables, each solve in a process of its own and limited in CPU time."""
    lines = ["| problem | n | rows | " + " | ".join(LARGE_SOLVERS) + " |"]
    lines.append("|---|--:|--:|" + "--:|" * len(LARGE_SOLVERS))
    for kind, n in LARGE:
        cells = []
        for solver in LARGE_SOLVERS:
            if solver == "L-BFGS-B" and kind not in ("rosenbrock", "box"):
                cells.append("")
                continue
            command = [sys.executable, "-m", "benchmarks.speed.own_cpu", "--one", f"{kind},{n},{solver}"]
            run = subprocess.run(command, capture_output=True, text=True)
            found = json.loads(run.stdout) if run.returncode == 0 else None
            reached = f"{found['own']:.2f} ({found['gradients']}, {found['f']:.7g})" if found else ""
            cells.append(reached or f"> {CPU_LIMIT}")
            print(kind, n, solver, found, flush=True)
        rows = {"chain": n // 2, "qp": n}.get(kind, 0)
        lines.append(f"| {kind} | {n} | {rows} | " + " | ".join(cells) + " |")
    return lines


class Plain(Remembered):
    """A problem whose functions are called every time; their own time is known to the problem."""

    def __init__(self, problem: problems.Problem) -> None:
        super().__init__(problem)
        self.fun, self.grad = problem.fun, problem.grad

    def dictionaries(self) -> list[dict[str, Any]]:
        """The inequalities, the only rows that large problems have, as SciPy's dictionary."""
        con, jac = self.problem.con, self.problem.jac
        rows = {"type": "ineq", "fun": lambda x: -con(x), "jac": lambda x: -jac(x)}
        return [rows] if self.problem.m else []


CPU_LIMIT = 60  # seconds
WARMING = 4  # variables of the solve that warms up
LARGE = (
    ("qp", 500),
    ("chain", 500),
    ("rosenbrock", 500),
    ("box", 500),
    ("chain", 2000),
    ("rosenbrock", 2000),
)
LARGE_SOLVERS: dict[str, Callable[[Remembered], Solve]] = {
    "ours": ours,
    "SLSQP": slsqp,
    "L-BFGS-B": lbfgsb,
    "IPOPT": ours,  # through its own peer
}

PARTS = {
    "hs": (
        "Hock-Schittkowski problems",
        "Ratios of own CPU time, geometric means over the problems that both solve.",
    ),
    "sizes": ("Growing problems", "`benchmarks.problems.chain`: n/2 rows, about half of them active."),
    "parts": ("What is done once a solve", ""),
    "large": (
        "Large problems",
        "Seconds of CPU without those in the problem's functions, one solve each; gradients and the "
        "objective reached in brackets. IPOPT uses its limited-memory Hessian through CasADi's callbacks.",
    ),
    "gradients": ("Gradients without rows", " ".join(scalable.__doc__.split("\n\n", 2)[2].split())),
}


def page(parts: dict[str, list[str]]) -> str:
    """The page."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} when written"
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    lines = [
        "# Own CPU time",
        "",
        " ".join(__doc__.split("\n\n")[1].split()),
        "",
        f"Written {datetime.date.today()} by `python -m benchmarks.speed.own_cpu` with the "
        f"{softpenalty.core.config()['core']} core; {versions}; {machine}.",
    ]
    for part, table in parts.items():
        title, words = PARTS[part]
        lines += ["", f"## {title}", "", *([words, ""] if words else []), *table]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=tuple(PARTS))
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--one", help="problem,n,solver: one large solve, printed as JSON")
    arguments = parser.parse_args()
    if arguments.one:
        kind, n, solver = arguments.one.split(",")
        print(json.dumps(one_large(kind, int(n), solver)))
        return
    measure = {
        "hs": lambda: hock_schittkowski(arguments.turns),
        "sizes": sizes,
        "parts": set_up_and_result,
        "large": large,
        "gradients": scalable.table,
    }
    parts = {part: measure[part]() for part in measure if arguments.only in (None, part)}
    if arguments.only:
        print("\n".join(parts[arguments.only]))
    else:
        PAGE.write_text(page(parts))


if __name__ == "__main__":
    main()
