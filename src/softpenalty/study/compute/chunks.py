"""The trials that are missing on file, cut into chunks, and how a chunk is computed.

A trial depends only on the seed of the study, the problem and the configuration, so the records do not
depend on the number of workers or on how trials are cut into chunks. Rows are equal to the last bit on equal
processors only: another one may have other vector instructions, which add up in another order. Medians agree.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..design.experiments import STANDARD, Configuration, Experiment
from ..design.problems import Problem, Vector, draw
from ..design.settings import Settings
from ..records import Group, Trial
from .engine import Engine, find_engine
from .methods import METHODS
from .threads import keep_one_blas_thread

PROBLEMS_PER_CHUNK = {"numba": 25, "scipy": 1}  # at most about a second of work is lost
_COST_EXPONENTS = {"planes": 1.4, "spheres": 0.4}  # time of a trial grows about as Nᵏ; only for the time left


@dataclass(frozen=True)
class Chunk:
    """Trials that are computed and recorded together."""

    settings: Settings
    experiment: str
    method: str
    kind: str
    dimension: int
    todo: tuple[tuple[int, tuple[Configuration, ...]], ...]  # problem, its configurations

    @property
    def trials(self) -> int:
        """How many rows it will be."""
        return sum(len(configurations) for _, configurations in self.todo)

    @property
    def cost(self) -> float:
        """Expected work, in no particular unit."""
        return self.trials * math.pow(self.dimension, _COST_EXPONENTS[self.kind])


class ChunkResult(NamedTuple):
    """Rows of a chunk and the CPU time they took."""

    trials: list[Trial]
    cpu_seconds: float


def plan(
    experiments: Sequence[Experiment],
    settings: Settings,
    samples: int,
    existing: dict[Group, set[int]],
    problems_per_chunk: int | None = None,
) -> list[Chunk]:
    """Chunks of all trials that are not on file, the most expensive first."""
    size = problems_per_chunk or PROBLEMS_PER_CHUNK[settings.engine]
    chunks = []
    for experiment in experiments:
        count = min(samples, experiment.most_samples or samples)
        for kind, dimension in experiment.cells():
            known = {
                c: existing.get((experiment.name, kind, dimension, c.name, c.sigma, c.alpha), set())
                for c in experiment.configurations
            }
            todo = [
                (problem, wanted)
                for problem in range(count)
                if (wanted := tuple(c for c, problems in known.items() if problem not in problems))
            ]
            chunks += [
                Chunk(
                    settings, experiment.name, experiment.method, kind, dimension, tuple(todo[i : i + size])
                )
                for i in range(0, len(todo), size)
            ]
    return sorted(chunks, key=lambda chunk: -chunk.cost)


def compute(chunk: Chunk) -> ChunkResult:
    """Solve the problems of a chunk; runs anywhere, in any order."""
    began = time.thread_time()
    settings = chunk.settings
    engine, method = find_engine(settings.engine), METHODS[chunk.method]
    trials = []
    for index, configurations in chunk.todo:
        problem = draw(chunk.kind, chunk.dimension, index, seed=settings.seed, mode=settings.problems)
        solution = _solution(problem, engine)
        for configuration in configurations:
            outcome = method(problem, configuration, engine)
            distance = float(np.linalg.norm(outcome.x - solution))
            trials.append(
                Trial(
                    experiment=chunk.experiment,
                    kind=chunk.kind,
                    dimension=chunk.dimension,
                    problem=index,
                    seed=settings.seed,
                    configuration=configuration.name,
                    **configuration.penalty,
                    feasible=int(problem.feasible),
                    distance=distance if np.isfinite(distance) else np.inf,
                    iterations=int(outcome.iterations),
                    evaluations=int(outcome.evaluations),
                    status=outcome.status,
                )
            )
    return ChunkResult(trials, time.thread_time() - began)


def compute_elsewhere(chunk: Chunk) -> ChunkResult:
    """The same in a worker of a cluster, however it was started."""
    keep_one_blas_thread()
    return compute(chunk)


def _solution(problem: Problem, engine: Engine) -> Vector:
    """The solution, or for an infeasible problem the author's reference point.

    The reference always comes from the four standard configurations, whichever are asked for.
    """
    if problem.feasible:
        return problem.solution()
    return problem.reference(np.array([METHODS["differences"](problem, c, engine).x for c in STANDARD]))
