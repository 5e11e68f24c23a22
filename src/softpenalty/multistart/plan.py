"""Where to start next: plain starts first, then hops from the best minima and samples ranked by a merit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import qmc

from ..solve.result import Result
from ..types import Array
from .box import Box
from .estimate import Estimate
from .hops import HOPS, KINDS, Mix
from .minima import FEW, SAME_POINT, Minima
from .work import Answer, Task, merits

__all__ = ["Plan"]

PLAIN = 3  # starts before any samples are taken: on most problems one is enough
SAMPLES = 4  # samples at least, per variable and one more
SAMPLE_SHARE = 0.3  # evaluations spent on samples, relative to those of solves
SCREEN_SHARE = 0.3  # evaluations spent on the candidates of a hop, relative to those of a mean solve
CANDIDATES = 64  # of a hop at most
BEST_SHARE = 0.9  # of the hops start from the best minimum, the others from one of the best few
UNIFORM = 10  # every so manieth start is uniform, for the estimate
FEASIBLE = 1e-6  # violation, relative to max(1, |target|), up to which the end of a solve counts as a minimum
WORTH = 2.0  # times the largest multiplier seen is what violation costs in the merit
UNKNOWN_WORTH = 0.1  # of the objective's middle range, for the middle violation of a row that was never active


@dataclass
class Plan:
    """All that is known so far, and what to do next.

    Attributes
    ----------
    box : between the bounds
    rng, seed : random numbers, and the seed of the Sobol points
    given : (k,) the user's own start or None
    complete : whether uniform starts are preferred where few more of them would make the estimate complete
    """

    box: Box
    rng: np.random.Generator
    seed: int
    given: Array | None = None
    complete: bool = True

    minima: Minima = field(default_factory=Minima)
    mix: Mix = field(default_factory=Mix)
    infeasible_best: Result | None = None
    proposed: int = 0
    solves: int = 0
    aborted: int = 0
    infeasible: int = 0
    failures: int = 0
    drawn: int = 0  # Sobol points taken
    uniform_ends: int = 0  # uniform starts that ended in a minimum
    solve_nfev: int = 0
    screen_nfev: int = 0
    njev: int = 0
    nhev: int = 0

    def __post_init__(self) -> None:
        k = self.box.free.size
        self._sobol = qmc.Sobol(k, scramble=True, seed=self.seed)
        self._promised = 0  # samples proposed
        self._units, self._objectives = np.zeros((0, k)), np.zeros(0)
        self._violations: Array = np.zeros((0, 0))
        self._used: set[int] = set()  # samples that were started from, or are about to be
        self._multipliers: Array = np.zeros(0)  # (m,) largest size seen

    @property
    def nfev(self) -> int:
        """Evaluations so far."""
        return self.solve_nfev + self.screen_nfev

    @property
    def samples(self) -> int:
        """Samples taken and not failed."""
        return len(self._objectives)

    @property
    def estimate(self) -> Estimate:
        """What is left to find."""
        return Estimate(len(self.minima.levels()), self.uniform_ends)

    def progress(self) -> dict[str, Any]:
        """What the answers taken in do not tell: how far the random numbers are."""
        return {"rng": self.rng.bit_generator.state, "drawn": self.drawn, "promised": self._promised}

    def resume(self, progress: dict[str, Any]) -> None:
        """Go on from there, after the answers were taken in again."""
        self.proposed, self._promised = self.solves, progress["promised"]
        self.rng.bit_generator.state = progress["rng"]
        self._sobol.fast_forward(progress["drawn"] - self.drawn)
        self.drawn = progress["drawn"]

    # --- what to do next ---------------------------------------------------------------------------------

    def propose(self, maxfev: float, max_time: float) -> Task:
        """The next start, with so many evaluations and seconds left."""
        self.proposed += 1
        if self.given is not None and self.proposed == 1:
            return self._task("given", self.given[None], maxfev, max_time)
        plain = self.proposed <= PLAIN + (self.given is not None)
        if plain:
            return self._task("uniform", self._draw(1), maxfev, max_time)
        if self._uniform_is_due():
            return self._task("uniform", self.rng.random((1, self.box.free.size)), maxfev, max_time)
        if len(self.minima) and self.samples:
            kind = self.mix.draw(self.rng)
            task = self._hop(kind, maxfev, max_time) if kind in HOPS else None
            if task is not None and len(task.points):
                return task
        return self._sample(maxfev, max_time)

    def _uniform_is_due(self) -> bool:
        missing = self.estimate.missing_starts
        soon = self.complete and len(self.minima) > 0 and 0 < missing <= self.solves
        return soon or self.proposed % UNIFORM == 0

    def _draw(self, size: int) -> Array:
        self.drawn += size
        return np.asarray(self._sobol.random(size))

    def _hop(self, kind: str, maxfev: float, max_time: float) -> Task:
        ranked = self.minima.best_first()
        best = self.rng.random() < BEST_SHARE
        origin = ranked[0 if best else self.rng.integers(min(FEW, len(ranked)))]
        others = np.array([minimum.unit for minimum in ranked if minimum is not origin])
        size = int(np.clip(SCREEN_SHARE * self.solve_nfev / max(1, self.solves), 1, min(CANDIDATES, maxfev)))
        points = HOPS[kind](self.rng, origin.unit, others, size)
        known = np.array([minimum.unit for minimum in ranked])
        distances = np.linalg.norm(points[:, None] - known, axis=2).min(axis=1)
        return self._task(kind, points[distances >= SAME_POINT], maxfev, max_time, hop=True)

    def _sample(self, maxfev: float, max_time: float) -> Task:
        wanted = max(SAMPLES * (self.box.free.size + 1), SAMPLE_SHARE * self.solve_nfev)
        fresh = int(max(0, min(wanted - self._promised, maxfev)))
        merit = merits(self._objectives, self._violations, self.weights()) if self.samples else np.zeros(0)
        merit[list(self._used)] = np.inf
        index = int(np.argmin(merit)) if merit.size else -1
        if index < 0 or merit[index] == np.inf:
            task = self._task("sample", self._draw(max(1, fresh)), maxfev, max_time)
        else:
            self._used.add(index)
            points = self._draw(fresh) if fresh else np.zeros((0, self.box.free.size))
            task = self._task(
                "sample", points, maxfev, max_time,
                rival=self._units[index], rival_merit=float(merit[index]), rival_index=index,
            )  # fmt: skip
        self._promised += len(task.points)
        return task

    def _task(self, kind: str, points: Array, maxfev: float, max_time: float, **more: object) -> Task:
        known = [i for i, minimum in enumerate(self.minima.found) if minimum.success]
        found = [self.minima.found[i] for i in known]
        return Task(
            kind, points, self.weights(),
            minima=np.array([minimum.unit for minimum in found]).reshape(len(found), self.box.free.size),
            levels=np.array([minimum.fun for minimum in found]),
            numbers=known, maxfev=maxfev, max_time=max_time, **more,  # type: ignore[arg-type]
        )  # fmt: skip

    def weights(self) -> Array:
        """What a unit of each row's violation is worth in the merit, (m,); (0,) while nothing is known."""
        size = max(self._multipliers.size, self._violations.shape[1])
        weights = np.ones(size)
        for i in range(self._violations.shape[1]):
            positive = self._violations[:, i][self._violations[:, i] > 0.0]
            if positive.size:
                weights[i] = UNKNOWN_WORTH * self.minima.spread / float(np.median(positive)) or 1.0
        known = self._multipliers > 0.0
        weights[: known.size][known] = WORTH * self._multipliers[known]
        return weights

    # --- what came of it ---------------------------------------------------------------------------------

    def take(self, answer: Answer) -> None:
        """Learn from a finished start."""
        result = answer.result
        self.solves += 1
        self.screen_nfev += len(answer.points)
        self.solve_nfev += result.nfev
        self.njev += result.njev
        self.nhev += result.nhev
        self.failures += answer.failures + result.failures
        if answer.kind == "sample":
            self._keep_samples(answer)
        ended, best = True, self.minima.levels()[:FEW]
        if answer.into >= 0:
            self.aborted += 1
            self.minima.found[answer.into].count += 1
        elif _feasible(result):
            self._learn_multipliers(result)
            self.minima.add(self.box.unit(result.x), result, self.nfev)
        else:
            ended = False
            self.infeasible += 1
            if self.infeasible_best is None or not result.maxcv >= self.infeasible_best.maxcv:
                self.infeasible_best = result
        self.uniform_ends += ended and answer.kind == "uniform"
        if answer.kind in KINDS:
            self.mix.see(answer.kind, bool(ended and answer.into < 0 and self.minima.is_news(result.fun, best)))

    def _keep_samples(self, answer: Answer) -> None:
        finite = np.isfinite(answer.objectives) & np.isfinite(answer.violations).all(axis=1)
        if answer.chosen < 0:
            self._used.add(answer.rival_index)
        else:
            self._used.discard(answer.rival_index)
        if not finite.any():
            return
        if answer.chosen >= 0 and finite[answer.chosen]:
            self._used.add(self.samples + int(finite[: answer.chosen].sum()))
        violations = answer.violations[finite]
        earlier = self._violations if self.samples else violations[:0]
        self._violations = np.vstack([earlier, violations])
        self._units = np.vstack([self._units, answer.points[finite]])
        self._objectives = np.append(self._objectives, answer.objectives[finite])
        low, high = np.quantile(self._objectives, [0.25, 0.75])
        self.minima.spread = float(high - low)

    def _learn_multipliers(self, result: Result) -> None:
        if not result.success:
            return
        sizes = np.nan_to_num(np.abs(result.multiplier_vector))
        self._multipliers = np.maximum(self._multipliers, sizes) if self._multipliers.size else sizes


def _feasible(result: Result) -> bool:
    allowed = FEASIBLE * np.maximum(1.0, np.abs(result.targets))
    return bool(np.isfinite(result.fun)) and (
        bool((result.violations <= allowed).all()) if result.violations.size else result.maxcv <= FEASIBLE
    )
