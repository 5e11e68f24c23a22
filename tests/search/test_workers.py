"""Workers: processes, threads and a Dask cluster take starts from a queue."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from search_functions import hills, margin
from softpenalty import Constraint, search
from softpenalty.multistart.result import Stop
from softpenalty.types import Array

BOX = [(-5.12, 5.12)] * 2
ABOVE = Constraint(margin, ">", 0.7, name="margin")  # two coordinates cannot both be 0: the best is at (1, 0)
BEST = 0.99496  # of one coordinate's second minimum


def test_processes_find_the_best() -> None:
    result = search(hills, BOX, ABOVE, rng=0, workers=2, max_solves=30, stop=None)
    assert result.success
    assert result.fun == pytest.approx(BEST, abs=1e-4)
    assert result.solves == 30
    assert sum(m.count for m in result.minima) + result.infeasible == 30


def test_functions_that_cannot_be_sent_are_named() -> None:
    with pytest.raises(TypeError, match=r"cannot be sent to other processes.*top of a module"):
        search(lambda x: hills(x), BOX, workers=2)


def test_threads_take_starts_without_a_barrier() -> None:
    """One start that takes long does not keep the other worker from the next ones."""
    gate, solves = threading.Event(), []
    first = threading.Lock()

    def fun(x: Array) -> float:
        if first.acquire(blocking=False):  # the very first evaluation waits for five other solves
            assert gate.wait(20.0)
        return hills(x)

    def watch(intermediate_result: object) -> None:
        solves.append(intermediate_result)
        if len(solves) == 5:
            gate.set()

    with ThreadPoolExecutor(2) as executor:
        result = search(fun, BOX, rng=0, workers=executor, max_solves=8, stop=None, callback=watch)
    assert result.solves == 8


def test_a_crew_respects_limits_and_the_estimate() -> None:
    with ThreadPoolExecutor(3) as executor:
        simple = search(lambda x: float(np.sum(x**2)), BOX, rng=0, workers=executor)
        assert simple.stop is Stop.COMPLETE
        limited = search(hills, BOX, rng=0, workers=executor, maxfev=300, stop=None)
    assert limited.stop is Stop.EVALUATIONS
    assert limited.nfev < 300 + 3 * 300  # what three solves in flight may cost at most


def test_an_error_in_a_worker_is_raised_here() -> None:
    def wrong(x: Array) -> float:
        raise TypeError("a mistake")

    with ThreadPoolExecutor(2) as executor, pytest.raises(TypeError, match="a mistake"):
        search(wrong, BOX, workers=executor)


@pytest.mark.slow
def test_a_dask_client() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        result = search(lambda x: hills(x), BOX, ABOVE, rng=0, workers=client, max_solves=20, stop=None)
    assert result.fun == pytest.approx(BEST, abs=1e-4)
    assert result.solves == 20


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from search_functions import slow
from softpenalty import search

if __name__ == "__main__":
    print("ready", flush=True)
    result = search(slow, [(-5.12, 5.12)] * 2, rng=0, workers={workers}, stop=None, max_solves=100000,
                    callback=lambda x: print("solve", flush=True))
    print(result.stop.name, result.success, len(result.minima) > 0, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_in_a_terminal(workers: int, tmp_path: Path) -> None:
    """The signal goes to all processes, as from a terminal; the search returns and nothing is left behind."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(Path(__file__).parents[1]), workers=workers))
    running = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("solve"):
            break
    os.killpg(running.pid, signal.SIGINT)
    start = time.perf_counter()
    output, errors = running.communicate(timeout=60)
    assert output.splitlines()[-1] == "INTERRUPTED True True", errors
    assert errors == ""
    assert time.perf_counter() - start < 30.0  # a solve takes less than a second; a busy machine longer
