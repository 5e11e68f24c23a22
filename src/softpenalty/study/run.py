"""Compute what is missing on file, chunk by chunk, and record it.

A trial depends only on the seed of the study, the problem and the configuration, so the records do not
depend on the number of workers or on how trials are cut into chunks. Rows are equal to the last bit on equal
processors only: another one may have other vector instructions, which add up in another order. Medians agree.
"""

import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softpenalty.study import StudyError
from softpenalty.study.engine import Engine, default_engine, find_engine
from softpenalty.study.experiments import STANDARD, Configuration, Experiment, choose
from softpenalty.study.methods import METHODS
from softpenalty.study.problems import Problem, Vector, draw
from softpenalty.study.records import RECORDS_NAME, Group, Records, Trial
from softpenalty.study.threads import keep_one_blas_thread, one_blas_thread

DEFAULT_SEED = 2021
DEFAULT_SAMPLES = 500
PROBLEMS_PER_CHUNK = {"numba": 25, "scipy": 1}  # at most about a second of work is lost
_COST_EXPONENTS = {"planes": 1.4, "spheres": 0.4}  # time of a trial grows about as Nᵏ; only for the time left


@dataclass(frozen=True)
class Settings:
    """What a trial depends on besides its problem and configuration."""

    seed: int = DEFAULT_SEED
    problems: str = "published"
    engine: str = "numba"


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


class Progress(NamedTuple):
    """How far a run is; `fraction` weighs trials by their expected work."""

    done: int
    total: int
    fraction: float


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
                    kernel=configuration.kernel,
                    combination=configuration.combination,
                    sigma=configuration.sigma,
                    alpha=configuration.alpha,
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


def run(
    out: Path | str,
    *,
    samples: int = DEFAULT_SAMPLES,
    experiments: Sequence[str] | None = None,
    dimensions: Sequence[int] | None = None,
    configurations: Sequence[str] | None = None,
    seed: int = DEFAULT_SEED,
    problems: str = "published",
    engine: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    note: Callable[[str], None] = lambda text: None,
) -> int:
    """Run a study into the folder `out`, or continue the one that is there; returns the trials added.

    Parameters
    ----------
    out : Path or str
        Folder of the records file.
    samples : int
        Problems per experiment, kind and dimension.
    experiments, dimensions, configurations : sequences, optional
        What is run; everything if not given.
    seed : int
        Seed of the study, not negative.
    problems : {"published", "corrected"}
        Infeasible problems are kept, or drawn again.
    engine : {"numba", "scipy"}, optional
        What computes; numba if it is installed.
    workers : int, optional
        Threads (numba) or processes (scipy); as many as there are cores if not given.
    scheduler : str, optional
        Address of a Dask scheduler that computes instead, such as "tcp://host:8786".
    progress, note : callables
        Receive a `Progress` after each chunk, and lines for the user.
    """
    if samples < 1:
        raise StudyError(f"--samples must be at least 1; got {samples}.")
    if seed < 0:
        raise StudyError(f"--seed must not be negative; got {seed}.")
    if workers is not None and workers < 1:
        raise StudyError(f"--workers must be at least 1; got {workers}.")
    chosen = choose(experiments, dimensions, configurations)
    advice = ""
    if engine is None:
        engine, advice = default_engine()
    find_engine(engine)
    settings = Settings(seed, problems, engine)
    path = Path(out) / RECORDS_NAME
    task = compute if scheduler is None else compute_elsewhere
    with (
        one_blas_thread(),
        _executor(settings, workers, scheduler) as executor,
        Records.create(path, seed=seed, problems=problems, engine=engine, samples=samples) as records,
    ):
        if advice:  # only now: a call that is refused says nothing else
            note(advice)
        chunks = plan(chosen, settings, samples, records.existing())
        total, cost = sum(c.trials for c in chunks), sum(c.cost for c in chunks)
        done, done_cost = 0, 0.0
        progress(Progress(0, total, 0.0))
        for chunk, result, seconds in _results(executor, task, chunks):
            records.append(result.trials, wall_seconds=seconds, cpu_seconds=result.cpu_seconds)
            done += chunk.trials
            done_cost += chunk.cost
            progress(Progress(done, total, done_cost / cost))
    return total


def _results(
    executor: Executor, task: Callable[[Chunk], ChunkResult], chunks: list[Chunk]
) -> Iterator[tuple[Chunk, ChunkResult, float]]:
    """Each chunk with its result and the wall time since the one before, as they finish."""
    futures: dict[Future[ChunkResult], Chunk] = {executor.submit(task, chunk): chunk for chunk in chunks}
    last = time.perf_counter()
    for future in as_completed(futures):
        result = future.result()
        now = time.perf_counter()
        yield futures.pop(future), result, now - last
        last = now


@contextmanager
def _executor(settings: Settings, workers: int | None, scheduler: str | None) -> Iterator[Executor]:
    """Where chunks are computed; what has not begun is dropped when the block is left early."""
    if scheduler is not None:
        from softpenalty.study.cluster import cluster_executor

        with cluster_executor(scheduler) as executor:
            yield executor
        return
    count = workers or _cores()
    local: Executor
    if settings.engine == "numba":  # compiled code runs without the interpreter's lock
        local = ThreadPoolExecutor(count)
    else:
        local = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _start_worker)
    children = set(multiprocessing.active_children())
    try:
        yield local
    except BaseException:
        local.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - children:
            process.terminate()
        raise
    finally:
        local.shutdown(wait=True, cancel_futures=True)


def _cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_worker() -> None:
    """Leave Ctrl-C to the parent process, and end when it does, however it ends."""
    keep_one_blas_thread()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
