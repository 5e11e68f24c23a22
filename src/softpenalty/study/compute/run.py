"""Compute what is missing on file, chunk by chunk, and record it."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .. import StudyError
from ..design.experiments import choose
from ..design.settings import DEFAULT_SAMPLES, DEFAULT_SEED, MODES, Settings
from ..records import RECORDS_NAME, Records
from .chunks import Chunk, ChunkResult, compute, compute_elsewhere, plan
from .engine import default_engine, find_engine
from .threads import keep_one_blas_thread, one_blas_thread


class Progress(NamedTuple):
    """How far a run is; `fraction` weighs trials by their expected work."""

    done: int
    total: int
    fraction: float


def run(
    out: Path | str,
    *,
    samples: int = DEFAULT_SAMPLES,
    experiments: Sequence[str] | None = None,
    dimensions: Sequence[int] | None = None,
    configurations: Sequence[str] | None = None,
    seed: int = DEFAULT_SEED,
    problems: str = MODES[0],
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
        from .cluster import cluster_executor

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
