"""One solve, and a process of its own for it: what hangs or crashes is ended and recorded, not waited for."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import warnings
from typing import Any

from . import judge
from .answer import Answer
from .peers import PEERS
from .problems import MAX_EVALUATIONS, MAX_SECONDS, OutOfBudget, load

WARM_UP = "HS6"  # solved once by each solver in each process, unrecorded: imports and compilations
PATIENCE = 3.0  # wall time after which a process is ended, in multiples of the CPU time allowed, plus 30 s


def solve(name: str, variant: str, solver: str, max_seconds: float = MAX_SECONDS) -> dict[str, Any]:
    """Solve one problem with one solver and judge the point.

    Returns
    -------
    dict
        success, message, nit: what the solver says; nfev, njev, nhev: counted; seconds: CPU time; own: CPU
        time outside the problem's functions; x, objective, violation, stationarity: the point, judged.
    """
    function = PEERS[solver].solve
    problem = load(name, variant)
    problem.start(MAX_EVALUATIONS, max_seconds)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = function(problem)
    except OutOfBudget:
        answer = Answer(problem.last, False, "out of evaluations or time")
    except Exception as error:
        answer = Answer(problem.last, False, f"{type(error).__name__}: {error}")
    seconds = time.process_time() - start
    record: dict[str, Any] = {
        "success": bool(answer.success),
        "message": " ".join(answer.message.split())[:200],
        "nit": None if answer.iterations is None else int(answer.iterations),
        "nfev": problem.nfev,
        "njev": problem.njev,
        "nhev": problem.nhev,
        "seconds": seconds,
        "own": seconds - problem.seconds,
    }
    point = judge.measure(load(name), answer.x)
    return record | {
        "objective": point.objective,
        "violation": point.violation,
        "stationarity": point.stationarity,
        "x": [float(number) for number in answer.x],
    }


def lost(message: str) -> dict[str, Any]:
    """Record of a solve that gave no answer at all."""
    nothing = {"success": False, "message": message, "nit": None, "x": None, "seconds": None, "own": None}
    infinite = dict.fromkeys(("objective", "violation", "stationarity"), float("inf"))
    return nothing | infinite | dict.fromkeys(("nfev", "njev", "nhev"), 0)


class Worker:
    """A process that solves one problem after the other."""

    def __init__(self, max_seconds: float = MAX_SECONDS) -> None:
        self.max_seconds = max_seconds
        self._process: Any = None

    def solve(self, name: str, variant: str, solver: str) -> dict[str, Any]:
        """Like the function `solve`, but certain to return."""
        if self._process is None:
            self._start()
        try:
            self._pipe.send((name, variant, solver, self.max_seconds))
            if self._pipe.poll(PATIENCE * self.max_seconds + 30.0):
                return self._pipe.recv()
            message = "hung"
        except (EOFError, OSError):
            message = "crashed"
        self.stop()
        return lost(message)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None


def _serve(pipe: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent; it ends this process itself
    # Native code prints at will; the progress display belongs to the parent.
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    warm: set[str] = set()
    while True:
        try:
            name, variant, solver, max_seconds = pipe.recv()
        except EOFError:
            return
        if solver not in warm:
            solve(WARM_UP, "plain", solver, max_seconds)
            warm.add(solver)
        pipe.send(solve(name, variant, solver, max_seconds))
