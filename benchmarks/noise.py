"""Noisy functions: `minimize(noise=...)` beside derivative-free peers on Hock-Schittkowski problems.

Every solver gets the same noisy problem: objective and nonlinear rows carry noise level·max(1, |value|)·ξ,
with ξ normal and drawn anew at every point ("random") or a wild function of x ("deterministic"); linear rows
and bounds are exact. A point is simulated once, whoever asks how often. What a solver returns is judged by
the functions without noise: objective within τ·max(1, |f*|) of the best known value and no row violated by
more than τ. So is every point simulated on the way, for the data profiles; there a bound violated is a row
violated. Records are lines of JSON, so that a stopped run goes on::

    python -m benchmarks.noise [--levels 1e-3 1e-2] [--solvers softpenalty cobyla] [--seeds 3] [--report]
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize

import softpenalty

from . import problems

HERE = Path(__file__).parent
RECORDS = HERE / "records" / "noise.jsonl"
LEVELS = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
MOST_VARIABLES = 10
BUDGET = 100  # simulations, times n + 1
ACCURACIES = tuple(10.0**-k for k in range(1, 9))  # τ, for which the first point that meets it is recorded
HELD_BACK = 3  # every third problem is not tuned on
WILD = 1e6  # frequency of the deterministic noise


class OutOfBudget(BaseException):
    """All simulations are used up."""


class Noisy:
    """A problem as a simulation: objective and nonlinear rows together, noisy, each point once."""

    def __init__(self, name: str, level: float, kind: str, seed: int) -> None:
        self.plain = problems.load(name)
        self.plain.start()
        self.level, self.kind = level, kind
        self.seed = [seed, zlib.crc32(name.encode())]
        self.n, self.x0 = self.plain.n, np.clip(self.plain.x0, self.plain.xl, self.plain.xu)
        self.budget = BUDGET * (self.n + 1)
        self.cache: dict[bytes, np.ndarray] = {}
        self.exact: list[tuple[float, float]] = []  # objective and largest violation without noise
        self.last = self.x0

    def simulate(self, x: np.ndarray) -> np.ndarray:
        """Objective and nonlinear rows at x."""
        x = np.asarray(x, dtype=float)
        key = x.tobytes()
        if key not in self.cache:
            if len(self.cache) >= self.budget:
                raise OutOfBudget
            values = np.append(self.plain.fun(x), self.plain.nonlinear(x))
            self.cache[key] = values + self.level * np.maximum(1.0, np.abs(values)) * self._noise(
                x, values.size
            )
            self.exact.append((float(values[0]), self.violation(x, values[1:])))
            self.last = x.copy()
        return self.cache[key]

    def violation(self, x: np.ndarray, nonlinear: np.ndarray) -> float:
        """The largest violation of rows and bounds at x, without noise."""
        plain = self.plain
        rows = np.concatenate([plain.A @ x - plain.b if plain.m_linear else np.zeros(0), nonlinear])
        broken = np.where(plain.equality, np.abs(rows), np.maximum(rows, 0.0))
        outside = np.maximum(np.maximum(plain.xl - x, x - plain.xu), 0.0)
        return float(max(broken.max(initial=0.0), outside.max(initial=0.0)))

    def first(self, tau: float, known: float) -> int | None:
        """After how many simulations one met the test at τ."""
        most = known + tau * max(1.0, abs(known))
        return next((i for i, (f, v) in enumerate(self.exact, 1) if f <= most and v <= tau), None)

    def _noise(self, x: np.ndarray, size: int) -> np.ndarray:
        if self.kind == "random":
            return np.random.default_rng([*self.seed, zlib.crc32(x.tobytes())]).standard_normal(size)
        phases = np.arange(1, size + 1)[:, None] * np.arange(1, x.size + 1)
        return np.sqrt(2.0) * np.sin(WILD * (np.sqrt(phases) @ x) + phases[:, 0] + self.seed[0])

    def fun(self, x: np.ndarray) -> float:
        """The noisy objective."""
        return float(self.simulate(x)[0])

    def con(self, x: np.ndarray) -> np.ndarray:
        """The noisy nonlinear rows."""
        return self.simulate(x)[1:].copy()

    def rows(self) -> list[Any]:
        """All rows as SciPy's objects; the linear ones are exact."""
        lower, split = np.where(self.plain.equality, 0.0, -np.inf), self.plain.m_linear
        found: list[Any] = []
        if split:
            found.append(LinearConstraint(self.plain.A, lower[:split] + self.plain.b, self.plain.b))
        if self.plain.m_nonlinear:
            found.append(NonlinearConstraint(self.con, lower[split:], 0.0))
        return found

    def dictionaries(self) -> list[dict[str, Any]]:
        """All rows as SLSQP's and COBYLA's dictionaries."""
        plain = self.plain

        def every(x: np.ndarray) -> np.ndarray:
            return np.concatenate([plain.A @ x - plain.b if plain.m_linear else np.zeros(0), self.con(x)])

        found = []
        for kind, rows, sign in (("eq", plain.equality, 1.0), ("ineq", ~plain.equality, -1.0)):
            if np.any(rows):
                found.append({"type": kind, "fun": lambda x, r=rows, s=sign: s * every(x)[r]})
        return found

    def bounds(self) -> Bounds | None:
        """The bounds, None when there are none."""
        if np.isinf(self.plain.xl).all() and np.isinf(self.plain.xu).all():
            return None
        return Bounds(self.plain.xl, self.plain.xu)


def ours(problem: Noisy, noise: Any = "auto", **more: Any) -> Any:
    """`minimize`, which finds out the noise itself."""
    return softpenalty.minimize(
        problem.fun, problem.x0, bounds=problem.bounds(), constraints=problem.rows(), noise=noise,
        maxfev=problem.budget, **more,
    )  # fmt: skip


def told(problem: Noisy) -> Any:
    """`minimize`, told the noise."""
    return ours(problem, problem.level)


def unaware(problem: Noisy) -> Any:
    """`minimize` as somebody calls it who does not know of any noise."""
    return ours(problem, None)


def cobyla(problem: Noisy) -> Any:
    """SciPy's COBYLA."""
    return minimize(
        problem.fun, problem.x0, method="COBYLA", bounds=problem.bounds(), constraints=problem.dictionaries(),
        options={"maxiter": problem.budget, "tol": max(problem.level, 1e-8), "rhobeg": 0.5},
    )  # fmt: skip


def cobyqa(problem: Noisy) -> Any:
    """COBYQA of SciPy."""
    return minimize(
        problem.fun, problem.x0, method="COBYQA", bounds=problem.bounds(), constraints=problem.rows(),
        options={"maxfev": problem.budget, "final_tr_radius": max(problem.level, 1e-8)},
    )  # fmt: skip


def slsqp(problem: Noisy) -> Any:
    """SLSQP with difference steps for the noise."""
    return minimize(
        problem.fun, problem.x0, method="SLSQP", bounds=problem.bounds(), constraints=problem.dictionaries(),
        options={"maxiter": 200, "eps": np.sqrt(problem.level), "ftol": problem.level},
    )  # fmt: skip


def nlopt_cobyla(problem: Noisy) -> Any:
    """COBYLA of NLopt."""
    from types import SimpleNamespace

    import nlopt

    optimizer = nlopt.opt(nlopt.LN_COBYLA, problem.n)
    optimizer.set_min_objective(lambda x, gradient: problem.fun(x))
    optimizer.set_lower_bounds(problem.plain.xl)
    optimizer.set_upper_bounds(problem.plain.xu)
    for kind, add in (
        ("eq", optimizer.add_equality_mconstraint),
        ("ineq", optimizer.add_inequality_mconstraint),
    ):
        for row in problem.dictionaries():
            if row["type"] == kind:
                sign = 1.0 if kind == "eq" else -1.0
                count = len(row["fun"](problem.x0))

                def evaluate(
                    result: np.ndarray, x: np.ndarray, _: Any, row: Any = row, sign: float = sign
                ) -> None:
                    result[:] = sign * row["fun"](x)

                add(evaluate, np.full(count, problem.level))
    optimizer.set_maxeval(problem.budget)
    optimizer.set_xtol_rel(max(problem.level, 1e-8))
    return SimpleNamespace(x=optimizer.optimize(problem.x0), success=True, message="")


SOLVERS: dict[str, Callable[[Noisy], Any]] = {
    "softpenalty": ours,
    "softpenalty told": told,
    "softpenalty unaware": unaware,
    "cobyla": cobyla,
    "cobyqa": cobyqa,
    "nlopt cobyla": nlopt_cobyla,
    "slsqp": slsqp,
}
COMPARED = ("softpenalty", "cobyla", "cobyqa", "nlopt cobyla", "slsqp")


@functools.cache
def chosen() -> tuple[str, ...]:
    """Hock-Schittkowski problems with few variables whose functions take no time."""
    slow = {"HS88", "HS89", "HS90", "HS91", "HS92", "HS105"}
    names = [name for name in problems.HOCK_SCHITTKOWSKI if name not in slow]
    return tuple(name for name in names if problems.load(name).n <= MOST_VARIABLES and name in best_values())


def run(name: str, solver: str, level: float, kind: str, seed: int) -> dict[str, Any]:
    """Solve one noisy problem and judge the answer without noise."""
    problem = Noisy(name, level, kind, seed)
    begun, success, message, status, own = time.process_time(), False, "", None, None
    x = problem.x0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = SOLVERS[solver](problem)
        x, success, message = np.asarray(result.x), bool(result.success), str(result.message)[:60]
        status, own = getattr(result, "status", None), getattr(result, "nfev", None)
    except OutOfBudget:
        x, message = problem.last, "out of budget"
    except Exception as error:  # whatever a peer raises counts as its failure
        message = f"{type(error).__name__}: {error}"[:200]
    seconds = time.process_time() - begun
    plain, known = problem.plain, best_values()[name]
    inside = np.clip(x, plain.xl, plain.xu)
    return {
        "problem": name, "solver": solver, "level": level, "kind": kind, "seed": seed, "n": plain.n,
        "f": plain.fun(inside), "violation": problem.violation(inside, plain.nonlinear(inside)),
        "success": success, "status": None if status is None else int(status), "message": message,
        "points": len(problem.cache), "first": [problem.first(tau, known) for tau in ACCURACIES],
        "nfev": None if own is None else int(own), "seconds": round(seconds, 3),
        "in_functions": round(plain.seconds, 3),
    }  # fmt: skip


@functools.cache
def best_values() -> dict[str, float]:
    """The best known objective of every problem."""
    values: dict[str, float] = json.loads((HERE / "best_values.json").read_text())
    return values


def held_back(name: str) -> bool:
    """Whether nothing was tuned on a problem."""
    return chosen().index(name) % HELD_BACK == 0


def solved(record: dict[str, Any], tau: float) -> bool:
    """Whether the answer is within τ of the best known one."""
    known = best_values()[record["problem"]]
    return bool(record["violation"] <= tau and record["f"] <= known + tau * max(1.0, abs(known)))


def key(record: dict[str, Any]) -> tuple[Any, ...]:
    """What was solved by whom."""
    return tuple(record[name] for name in ("problem", "solver", "level", "kind", "seed"))


def read(path: Path) -> list[dict[str, Any]]:
    """All records on file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def main() -> None:
    """Run what is missing, or write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--levels", type=float, nargs="+", default=list(LEVELS))
    parser.add_argument("--kinds", nargs="+", default=["random", "deterministic"])
    parser.add_argument("--solvers", nargs="+", default=list(COMPARED), choices=list(SOLVERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--problems", nargs="+")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--report", action="store_true", help="run nothing, write NOISE.md and its figures")
    arguments = parser.parse_args()
    if arguments.report:
        from . import noise_page

        noise_page.write(read(arguments.records))
        return
    done = {key(record) for record in read(arguments.records)}
    arguments.records.parent.mkdir(parents=True, exist_ok=True)
    for kind, level, seed in itertools.product(arguments.kinds, arguments.levels, range(arguments.seeds)):
        for name, solver in itertools.product(arguments.problems or chosen(), arguments.solvers):
            if (name, solver, level, kind, seed) not in done:
                line = json.dumps(run(name, solver, level, kind, seed)) + "\n"
                with arguments.records.open("a") as file:
                    file.write(line)


if __name__ == "__main__":
    main()
