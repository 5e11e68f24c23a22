"""Who computes the starts: this process, processes of our own, or an executor of the user's."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from .work import Answer, Statement, Task, work

__all__ = ["Alone", "Crew", "hire"]

_stopped: Any = None  # in a process of ours: the event that ends its solve


class Alone:
    """One start at a time, here."""

    size = 1

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.tasks: list[Task] = []

    @property
    def running(self) -> int:
        """Starts that are not finished."""
        return len(self.tasks)

    def submit(self, task: Task) -> None:
        """Take a start."""
        self.tasks.append(task)

    def next(self) -> Answer:
        """The next one that is finished."""
        return work(self.statement, self.tasks.pop(0))


class Crew:
    """As many starts at a time as there are workers; each takes the next one as soon as it is free."""

    def __init__(self, statement: Statement, executor: Executor, size: int, own: bool) -> None:
        self.statement, self.executor, self.size, self.own = statement, executor, size, own
        self.futures: set[Future[Answer]] = set()

    @property
    def running(self) -> int:
        """Starts that are not finished."""
        return len(self.futures)

    def submit(self, task: Task) -> None:
        """Send a start to whoever is free."""
        with _held_back(self.own):
            self.futures.add(self.executor.submit(_work_there if self.own else work, self.statement, task))

    def next(self) -> Answer:
        """The next one that is finished."""
        done = wait(self.futures, return_when=FIRST_COMPLETED).done
        future = done.pop()
        self.futures.discard(future)
        return future.result()


@contextmanager
def hire(workers: Any, statement: Statement) -> Iterator[Alone | Crew]:
    """Those who do the work: a number of processes, an executor, or the client of a Dask cluster."""
    if hasattr(workers, "get_executor"):  # Dask
        with workers.get_executor(pure=False) as executor:
            yield Crew(statement, executor, max(1, sum(workers.nthreads().values())), own=False)
    elif hasattr(workers, "submit"):
        size = getattr(workers, "_max_workers", None) or os.cpu_count() or 1
        crew = Crew(statement, workers, size, own=False)
        try:
            yield crew
        finally:
            for future in crew.futures:
                future.cancel()
    elif not isinstance(workers, int) or isinstance(workers, bool) or (workers < 1 and workers != -1):
        raise TypeError(
            "`search(workers=...)` must be a number of processes (−1 for all cores), an executor with "
            f"`submit`, or a Dask client; got {workers!r}."
        )
    elif (size := workers if workers > 0 else os.cpu_count() or 1) == 1:
        yield Alone(statement)
    else:
        with _processes(size, statement) as crew:
            yield crew


@contextmanager
def _processes(size: int, statement: Statement) -> Iterator[Crew]:
    try:
        pickle.dumps(statement)
    except Exception as reason:
        raise TypeError(
            "`search(workers=...)`: the functions cannot be sent to other processes: "
            f"{reason}. Define them at the top of a module, not as lambdas or inside functions, or pass "
            "workers=concurrent.futures.ThreadPoolExecutor() where they release the interpreter."
        ) from reason
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    executor = ProcessPoolExecutor(size, context, _begin, (stop,))
    try:
        yield Crew(statement, executor, size, own=True)
    finally:
        stop.set()
        executor.shutdown(cancel_futures=True)


@contextmanager
def _held_back(wanted: bool) -> Iterator[None]:
    """Hold Ctrl-C back while processes start: they inherit that, and it is the parent's to act on it."""
    if not wanted or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(stop: Any) -> None:
    """In a new process: Ctrl-C is the parent's, who sets `stop`."""
    global _stopped
    _stopped = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work_there(statement: Statement, task: Task) -> Answer:
    return work(statement, task, _stopped.is_set)
