"""Where to start next: a plain start first, then hops from the best minima and samples ranked by a merit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..solve.result import Result
from ..types import Array
from .box import Box
from .estimate import Estimate
from .hops import HOPS, KINDS, Mix
from .minima import FEW, SAME_POINT, Minima
from .samples import Samples
from .work import Answer, Task

__all__ = ["Plan"]

PLAIN = 1  # starts before any samples are taken: on most problems one is enough
SAMPLES = 4  # samples at least, per variable and one more
SAMPLE_SHARE = 0.3  # evaluations spent on samples, relative to those of solves
SCREEN_SHARE = 0.3  # evaluations spent on the candidates of a hop, relative to those of a mean solve
CANDIDATES = 64  # of a hop at most
BEST_SHARE = 0.9  # of the hops start from the best minimum, the others from one of the best few
UNIFORM = 10  # one start in so many is uniform, for the estimate
ITERATIONS = 100  # that a solve may take at least, and more with each that was not enough ...
PATIENCE = 3  # ... or so many times those of the slowest success
FEASIBLE = 1e-6  # violation, relative to max(1, |target|), up to which a solve ended in a minimum


class Plan:
    """All that is known so far, and what to do next.

    Parameters
    ----------
    box : between the bounds
    rng : random numbers
    given : (k,) the user's own start or None
    complete : whether uniform starts are preferred where few more of them would complete the estimate
    """

    def __init__(
        self, box: Box, rng: np.random.Generator, given: Array | None = None, complete: bool = True
    ) -> None:
        self.box, self.rng, self.given, self.complete = box, rng, given, complete
        self.samples = Samples(box.free.size, int(rng.integers(2**32)))
        self.minima = Minima()
        self.mix = Mix()
        self.least_violated: Result | None = None  #: of the solves that ended without a feasible point
        self.starts: list[Array] = []  #: from which was solved
        self.proposed = 0  #: starts, finished or not
        self.promised = 0  #: samples, evaluated or about to be
        self.slowest = 0  #: most iterations that a success took
        self.cut = 0  #: solves that ended without success for lack of iterations
        self.aborted = self.infeasible = self.failures = 0
        self.failure_messages: dict[str, str] = {}  #: kind → the first message
        self.uniform_ends = 0  #: uniform starts that ended in a minimum
        self.solve_nfev = self.screen_nfev = self.njev = self.nhev = 0

    @property
    def least(self) -> int:
        """Evaluations that a solve needs to get anywhere, with differences."""
        return 2 + int(self.box.free.size)

    @property
    def solves(self) -> int:
        """Finished starts."""
        return len(self.starts)

    @property
    def nfev(self) -> int:
        """Evaluations so far."""
        return self.solve_nfev + self.screen_nfev

    @property
    def estimate(self) -> Estimate:
        """What is left to find."""
        return Estimate(len(self.minima.levels()), self.uniform_ends)

    def progress(self) -> dict[str, Any]:
        """What the answers taken in do not tell: how far the random numbers are."""
        state = self.rng.bit_generator.state
        return {"rng": state, "drawn": self.samples.drawn, "promised": self.promised}

    def resume(self, progress: dict[str, Any]) -> None:
        """Go on from there, after the answers were taken in again."""
        self.proposed, self.promised = self.solves, progress["promised"]
        self.rng.bit_generator.state = progress["rng"]
        self.samples.skip_to(progress["drawn"])

    # --- what to do next ---------------------------------------------------------------------------------

    def propose(self, maxfev: float, max_time: float) -> Task:
        """The next start, with so many evaluations and seconds left."""
        limits = {"maxfev": maxfev, "max_time": max_time}
        self.proposed += 1
        if self.given is not None and self.proposed == 1:
            return self._task("given", self.given[None], **limits)
        if self.proposed <= PLAIN + (self.given is not None):
            return self._task("uniform", self.samples.draw(1), **limits)
        if self._uniform_is_due():
            return self._task("uniform", self.rng.random((1, self.box.free.size)), **limits)
        if len(self.minima) and len(self.samples):
            kind = self.mix.draw(self.rng, self.nfev / self.solves)
            points = self._hop(kind, maxfev) if kind in HOPS else self.samples.draw(0)
            if len(points):
                return self._task(kind, points, hop=True, **limits)
        return self._sample(**limits)

    def _uniform_is_due(self) -> bool:
        missing = self.estimate.missing_starts
        soon = self.complete and len(self.minima) > 0 and 0 < missing <= self.solves
        return soon or self.proposed % UNIFORM == 0

    def _hop(self, kind: str, maxfev: float) -> Array:
        """Candidates around a minimum, none of them near a known minimum or an earlier start."""
        ranked = self.minima.best_first()
        best = self.rng.random() < BEST_SHARE
        origin = ranked[0 if best else self.rng.integers(min(FEW, len(ranked)))]
        others = np.array([minimum.unit for minimum in ranked if minimum is not origin])
        size = SCREEN_SHARE * self.solve_nfev / self.solves
        room = min(CANDIDATES, maxfev - self.least)
        points = HOPS[kind](self.rng, origin.unit, others, int(max(1, min(size, room))))
        points = np.unique(points, axis=0)  # permutations of few coordinates repeat themselves
        known = np.array([*(minimum.unit for minimum in ranked), *self.starts])
        distances: Array = np.linalg.norm(points[:, None] - known, axis=2).min(axis=1)
        return np.asarray(points[distances >= SAME_POINT])

    def _sample(self, maxfev: float, max_time: float) -> Task:
        """Top the samples up; the best of the new and the unused ones is the start."""
        wanted = max(SAMPLES * (self.box.free.size + 1), SAMPLE_SHARE * self.solve_nfev)
        fresh = int(max(0, min(wanted - self.promised, maxfev - self.least)))
        index, merit = self.samples.least()
        if index < 0:
            fresh = max(1, fresh)
        self.promised += fresh
        points = self.samples.draw(fresh)
        rival = {}
        if index >= 0:
            self.samples.used.add(index)
            rival = {"rival": self.samples.units[index], "rival_merit": merit, "rival_index": index}
        return self._task("sample", points, maxfev=maxfev, max_time=max_time, **rival)

    def _task(self, kind: str, points: Array, **more: Any) -> Task:
        known = [i for i, minimum in enumerate(self.minima.found) if minimum.success]
        found = [self.minima.found[i] for i in known]
        units = np.array([minimum.unit for minimum in found]).reshape(len(found), self.box.free.size)
        levels = np.array([minimum.fun for minimum in found])
        return Task(
            kind, points, self.samples.weights(), units, levels, known, maxiter=self._iterations(), **more
        )

    def _iterations(self) -> int:
        """How many a solve may take: other starts are worth more than one that does not get anywhere."""
        return max(ITERATIONS, PATIENCE * self.slowest) if self.slowest else ITERATIONS * (1 + self.cut)

    # --- what came of it ---------------------------------------------------------------------------------

    def take(self, answer: Answer) -> None:
        """Learn from a finished start."""
        result, cost = answer.result, len(answer.points) + answer.result.nfev
        self.starts.append(answer.start)
        self.screen_nfev += len(answer.points)
        self.solve_nfev += result.nfev
        self.njev += result.njev
        self.nhev += result.nhev
        if result.success:
            self.slowest = max(self.slowest, result.nit)
        else:
            self.cut += result.nit >= ITERATIONS * (1 + self.cut)
        self.failures += answer.failures + result.failures
        self.failure_messages = result.failure_messages | answer.failure_messages | self.failure_messages
        if answer.kind == "sample":
            self.samples.keep(answer)
            self.minima.spread = self.samples.spread
        gain, ended = 0.0, True
        if answer.into >= 0:
            self.aborted += 1
            self.minima.found[answer.into].count += 1
        elif answer.unfinished and len(self.minima) and not self._is_better(result):
            ended = False  # where it was going is not known
        elif _feasible(result):
            gain = self.minima.gain(result.fun)
            self.minima.add(self.box.unit(result.x), result, self.nfev)
            if result.success:
                self.samples.learn(result)
        else:
            ended = False
            self.infeasible += 1
            if self.least_violated is None or not result.maxcv >= self.least_violated.maxcv:
                self.least_violated = result
        self.uniform_ends += ended and answer.kind == "uniform"
        if answer.kind in KINDS:
            self.mix.see(answer.kind, gain, cost)

    def _is_better(self, result: Result) -> bool:
        return _feasible(result) and bool(result.fun < self.minima.levels()[0])


def _feasible(result: Result) -> bool:
    if not np.isfinite(result.fun) or not result.violations.size:
        return bool(np.isfinite(result.fun)) and bool(result.maxcv <= FEASIBLE)
    return bool((result.violations <= FEASIBLE * np.maximum(1.0, np.abs(result.targets))).all())
