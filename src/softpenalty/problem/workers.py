"""Processes that call the user's functions: several points at once, and ended where one of them hangs.

With "fork" the functions need not be picklable, lambdas and closures included; elsewhere they must be. A
process that dies, as simulators in C do now and then, is a failed point.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any

from ..types import Array
from .functions import Failure, Functions, Sample

__all__ = ["EvaluationTimeoutError", "Workers", "mapping"]

PARENT_LOOKED_AFTER = 1.0  # seconds after which a process looks whether it is still needed


class EvaluationTimeoutError(TimeoutError):
    """The functions gave no answer in time."""

    kind = "timeout"


class DiedError(RuntimeError):
    """The process that called the functions died."""

    kind = "process died"


def mapping(workers: Any) -> Callable[..., Iterable[Any]]:
    """A map over points from what the user has: a map-like function, or an object with such a method."""
    found = getattr(workers, "map", workers)
    if isinstance(workers, bool) or not callable(found):
        raise TypeError(
            "`minimize(workers=...)` must be a number of processes, a map-like function, or an object with a "
            f"method `map` such as a pool, an executor or a Dask client; got {workers!r}."
        )
    chosen: Callable[..., Iterable[Any]] = found
    return chosen


class _Worker:
    """One process, and the connection to it."""

    def __init__(self, functions: Functions) -> None:
        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(functions, theirs, os.getpid()), daemon=True)
        try:
            self.process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"`minimize(workers=...)`: on this system the functions are sent to other processes, which "
                f"these cannot be: {error}. Define them at the top of a module, without lambda."
            ) from error
        theirs.close()
        self.point: int | None = None  # which one it is at work on
        self.late = float("inf")  # reading of the clock after which it is ended

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


class Workers:
    """A few processes that evaluate points, as a context.

    Parameters
    ----------
    functions : what they call
    count : how many processes
    timeout : seconds for one point
    """

    def __init__(self, functions: Functions, count: int, timeout: float = float("inf")) -> None:
        self.functions, self.count, self.timeout = functions, count, timeout
        self._workers: list[_Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._workers:
            self._workers.pop().end()

    def map(self, sample: Sample, points: Iterable[Array]) -> Iterator[list[Array] | Failure]:
        """What `sample` returns at each point, in order, as soon as it is there."""
        todo = list(points)
        answers: dict[int, list[Array] | Failure] = {}
        started = given = 0
        try:
            while given < len(todo):
                while started < len(todo) and (worker := self._idle()) is not None:
                    worker.point, worker.late = started, time.monotonic() + self.timeout
                    worker.connection.send((sample.which, todo[started]))
                    started += 1
                self._collect(answers)
                while given in answers:
                    yield answers.pop(given)
                    given += 1
        finally:  # whoever is still at work would answer a question nobody asks any more
            for worker in [w for w in self._workers if w.point is not None]:
                self._drop(worker)

    def _idle(self) -> _Worker | None:
        for worker in self._workers:
            if worker.point is None:
                return worker
        if len(self._workers) < self.count:
            self._workers.append(_Worker(self.functions))
            return self._workers[-1]
        return None

    def _collect(self, answers: dict[int, list[Array] | Failure]) -> None:
        """Wait for the next answer, or for the next one to be late."""
        busy = {worker.connection: worker for worker in self._workers if worker.point is not None}
        late = min(worker.late for worker in busy.values())
        remaining = None if late == float("inf") else max(0.0, late - time.monotonic())
        for connection in wait(list(busy), remaining):
            worker = busy[connection]
            point, worker.point = worker.point, None
            assert point is not None
            try:
                answers[point] = worker.connection.recv()
            except (EOFError, OSError):
                worker.process.join()
                code = worker.process.exitcode
                answers[point] = Failure(DiedError(f"the process died with exit code {code}"))
                self._drop(worker)
        now = time.monotonic()
        for worker in [w for w in busy.values() if w.point is not None and w.late <= now]:
            message = f"no answer within {self.timeout:g} s"
            assert worker.point is not None
            answers[worker.point] = Failure(EvaluationTimeoutError(message))
            self._drop(worker)

    def _drop(self, worker: _Worker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
        worker.end()


def _serve(functions: Functions, connection: Connection, parent: int) -> None:
    """Answer questions until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interruption means
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    while True:
        try:
            which, x = connection.recv()
            answer = Sample(functions, which)(x)
        except (EOFError, OSError):
            return
        try:
            connection.send(answer)
        except (pickle.PicklingError, AttributeError, TypeError):  # an exception that cannot travel
            assert isinstance(answer, Failure)
            connection.send(Failure(RuntimeError(f"{type(answer.error).__name__}: {answer.error}")))
        except (BrokenPipeError, ConnectionResetError):
            return


def _end_with(parent: int) -> None:
    """End this process soon after its parent, whatever it is at: a simulation that hangs included."""
    while os.getppid() == parent:
        time.sleep(PARENT_LOOKED_AFTER)
    os._exit(1)
