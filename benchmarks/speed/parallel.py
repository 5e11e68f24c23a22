"""How much two processes gain where a simulation takes 50 ms and has 20 variables: `workers=2` against 1.

Two simulations: one that waits, as for another program or a licence, and one that computes in Python. Run as
``python benchmarks/speed/parallel.py [--workers 2] [--seconds 0.05]``.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np

from softpenalty import Constraint, minimize, shared

N, ITERATIONS = 20, 4
ASKED = 1.7


def cost(x: np.ndarray) -> dict[str, float]:
    """A curved objective and two constraints."""
    return {
        "cost": float(((x - 1.0) ** 2).sum() + (x[1:] * x[:-1]).sum() ** 2 / N),
        "sum": float(x.sum()),
        "size": float(x @ x),
    }


def waiting(seconds: float) -> Any:
    """A simulation that waits."""

    def simulate(x: np.ndarray) -> dict[str, float]:
        time.sleep(seconds)
        return cost(x)

    return simulate


def computing(seconds: float) -> Any:
    """A simulation that computes: so many rounds of a loop, measured where nothing else runs."""
    rounds = 20_000
    begun = time.process_time()
    _loop(rounds)
    rounds = int(rounds * seconds / (time.process_time() - begun))

    def simulate(x: np.ndarray) -> dict[str, float]:
        _loop(rounds)
        return cost(x)

    return simulate


def _loop(rounds: int) -> float:
    total = 0.0
    for i in range(rounds):
        total += i * 1e-9
    return total


def solve(simulate: Any, workers: int) -> tuple[float, Any]:
    """Seconds, and the result after a few iterations."""
    plant = shared(simulate)
    begun = time.perf_counter()
    result = minimize(
        plant["cost"],
        np.linspace(0.0, 2.0, N),
        constraints=[Constraint(plant["sum"], "<", 5.0), Constraint(plant["size"], ">", 4.0)],
        workers=workers,
        maxiter=ITERATIONS,
    )
    return time.perf_counter() - begun, result


def main() -> None:
    """Print a line a simulation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.05)
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    for name, make in (("waits", waiting), ("computes", computing)):
        simulate = make(given.seconds)
        alone, first = solve(simulate, 1)
        together, second = solve(simulate, given.workers)
        assert (first.x == second.x).all() and first.nfev == second.nfev
        gain = alone / together
        print(
            f"{name:9} {first.nfev} points: {alone:.2f} s alone, {together:.2f} s with {given.workers} "
            f"processes, {gain:.2f} times as fast ({'at least' if gain >= ASKED else 'LESS THAN'} {ASKED})"
        )


if __name__ == "__main__":
    main()
