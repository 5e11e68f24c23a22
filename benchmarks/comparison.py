"""Numbers from records: who solved what, at which cost, and how that compares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy.stats import binomtest

from . import judge
from .judge import Measure
from .peers import PEERS

MAIN_TOLERANCE = judge.TOLERANCES[0]


@dataclass(frozen=True)
class Solve:
    """One solver on one problem, its repetitions brought together."""

    success: bool
    message: str
    nit: int | None
    nfev: int
    njev: int
    own: list[float]  # seconds outside the problem's functions, one per repetition
    point: Measure


class Comparison:
    """All solves of one set of problems, with the judge's verdicts.

    Only the latest version of each solver counts. ``solves[variant][solver][problem]`` is a `Solve`.
    """

    def __init__(self, records: Iterable[dict[str, Any]]) -> None:
        records = list(records)
        self.versions = {record["solver"]: record["version"] for record in records}
        self.dates = sorted(record["time"] for record in records)
        points: dict[str, dict[str, list[Measure]]] = {}
        self.solves: dict[str, dict[str, dict[str, Solve]]] = {}
        for record in records:
            name, solver = record["problem"], record["solver"]
            point = Measure(record["objective"], record["violation"], record["stationarity"])
            points.setdefault(name, {}).setdefault(record["variant"], []).append(point)
            if record["version"] != self.versions[solver]:
                continue
            found = self.solves.setdefault(record["variant"], {}).setdefault(solver, {})
            if name in found:
                found[name].own.extend(_times(record))
            else:
                found[name] = Solve(
                    record["success"],
                    record["message"],
                    record["nit"],
                    record["nfev"],
                    record["njev"],
                    _times(record),
                    point,
                )
        self.best = {
            name: judge.best_objective(name, found.get("plain") or chain(*found.values()))
            for name, found in points.items()
        }
        self.problems = sorted(points, key=lambda name: (len(name), name))
        self.solvers = [solver for solver in PEERS if solver in self.versions]

    def of(self, solver: str, variant: str = "plain") -> dict[str, Solve]:
        """The solves of one solver, by problem."""
        return self.solves.get(variant, {}).get(solver, {})

    def solved(self, solver: str, variant: str = "plain", tol: float = MAIN_TOLERANCE) -> set[str]:
        """Problems it solved."""
        found = self.of(solver, variant)
        return {name for name, solve in found.items() if judge.solved(solve.point, self.best[name], tol)}

    def false_successes(self, solver: str, variant: str = "plain") -> list[str]:
        """Problems on which it claimed success and the judge disagrees."""
        return [
            name
            for name, solve in self.of(solver, variant).items()
            if judge.false_success(solve.success, solve.point, self.best[name])
        ]

    def costs(self, solver: str, measure: Callable[[Solve], float]) -> dict[str, float]:
        """Cost of each problem it solved."""
        found = self.of(solver)
        return {name: measure(found[name]) for name in self.problems if name in self.solved(solver)}


def _times(record: dict[str, Any]) -> list[float]:
    return [] if record["own"] is None else [record["own"]]


def functions(solve: Solve) -> float:
    """Function evaluations."""
    return solve.nfev


def gradients(solve: Solve) -> float:
    """Gradient evaluations."""
    return solve.njev


def own_time(solve: Solve) -> float:
    """Median own CPU time in milliseconds."""
    return 1e3 * float(np.median(solve.own))


def spread(solves: Iterable[Solve]) -> float:
    """Typical spread of the own CPU time over repetitions: median of (max - min) / median."""
    spreads = [(max(s.own) - min(s.own)) / np.median(s.own) for s in solves if len(s.own) > 1]
    return float(np.median(spreads)) if spreads else np.nan


@dataclass(frozen=True)
class Paired:
    """One solver's cost against another's on the problems both solve."""

    common: int
    ratio: float  # geometric mean
    fewer: int
    more: int
    p: float  # sign test, two-sided: how likely so uneven a split is by chance


def pair(costs: dict[str, float], reference: dict[str, float]) -> Paired | None:
    """Compare costs problem by problem; None without common problems or without costs (no gradients)."""
    common = [name for name in costs if name in reference and costs[name] > 0 and reference[name] > 0]
    if not common:
        return None
    ratios = np.array([costs[name] / reference[name] for name in common])
    fewer, more = int(np.sum(ratios < 1)), int(np.sum(ratios > 1))
    p = binomtest(fewer, fewer + more).pvalue if fewer + more else 1.0
    return Paired(len(common), float(np.exp(np.mean(np.log(ratios)))), fewer, more, float(p))


def performance_profile(costs: dict[str, dict[str, float]], problems: list[str]) -> dict[str, np.ndarray]:
    """Dolan-Moré ratios of each solver, sorted: cost over the least cost of any solver on that problem.

    A problem a solver did not solve has an infinite ratio; one nobody solved has it for all, so the profile
    ends at the fraction solved.
    """
    least = {name: min(found.get(name, np.inf) for found in costs.values()) for name in problems}
    return {
        solver: np.sort([found[name] / least[name] if name in found else np.inf for name in problems])
        for solver, found in costs.items()
    }


def fitted_exponent(sizes: Iterable[float], costs: Iterable[float]) -> float:
    """Slope of log cost against log size."""
    return float(np.polyfit(np.log(list(sizes)), np.log(list(costs)), 1)[0])
