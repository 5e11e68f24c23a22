"""A solve that is killed goes on from its checkpoint: same answer to the last bit, nothing evaluated twice.

As a program it is the solve that gets killed: ``python test_kill.py '{"checkpoint": ..., "calls": ...}'``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softpenalty import Constraint, minimize, shared

KILLS, SAMPLE = 30, 3
SIMULATION = 0.004  # seconds
ORPHANED = 3.0  # seconds after which no process may be left: they look for their parent once a second
KINDS = ({"workers": 1}, {"workers": 2}, {"workers": 1, "exact": True}, {"workers": 2, "exact": True})

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")


class NotConvergedError(Exception):
    """What the simulation raises outside its domain."""


def solve(checkpoint: str, calls: str, workers: int = 1, exact: bool = False, hang: bool = False) -> Any:
    """The solve; each call of the simulation is written to the file `calls`: process, then x."""

    def note(what: str, x: np.ndarray) -> None:
        with Path(calls).open("a") as file:
            file.write(f"{os.getpid()} {what} {x.tobytes().hex()}\n")

    def simulate(x: np.ndarray) -> dict[str, Any]:
        note("values", x)
        time.sleep(1000.0 if hang else SIMULATION)
        if x[2] > 2.0:
            raise NotConvergedError("no convergence")
        cost = 100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2
        return {
            "cost": float(cost.sum()) if x[3] > -0.2 else np.nan,
            "size": x @ x,
            "flow": np.array([x[0] + x[1], x[2] - x[3]]),
        }

    def gradient(x: np.ndarray) -> np.ndarray:
        note("gradient", x)
        from scipy.optimize import rosen_der

        return rosen_der(x)

    plant = shared(simulate)
    return minimize(
        plant["cost"],
        [-1.2, 1.0, 0.5, 2.0],
        jac=gradient if exact else None,
        bounds=[(-3.0, 3.0)] * 4,
        constraints=[
            Constraint(plant["size"], "<", 2.0, name="size"),
            Constraint(plant["flow"], ">", [-1.0, 0.1], name="flow"),
        ],
        workers=workers,
        evaluation_timeout=900.0 if hang else np.inf,  # so that all calls are made by processes
        checkpoint=checkpoint,
        resume=True,
    )


def answer(result: Any) -> dict[str, Any]:
    """All of a result that must not depend on interruptions, to the last bit."""
    numbers = {"x": result.x, "fun": [result.fun], **result.multipliers}
    exact = {name: [float(v).hex() for v in values] for name, values in numbers.items()}
    counts = {name: int(result[name]) for name in ("status", "nit", "nfev", "njev", "failures")}
    return {**exact, **counts, "success": bool(result.success)}


class Run:
    """A solve in a process of its own."""

    def __init__(self, folder: Path, name: str, **kind: Any) -> None:
        self.calls, self.checkpoint = folder / f"{name} calls", folder / "checkpoint.jsonl"
        self.calls.touch()
        given = {"checkpoint": str(self.checkpoint), "calls": str(self.calls), **kind}
        self.process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(given)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def begun(self) -> None:
        """Wait for the first call of the simulation."""
        until = time.monotonic() + 60.0
        while not self.calls.stat().st_size and self.process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.002)

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()  # reading to the end would wait for processes that are left behind

    def answer(self) -> dict[str, Any]:
        """What it prints at the end."""
        out, error = self.process.communicate(timeout=120)
        assert self.process.returncode == 0 and not error, error.decode()
        return json.loads(out)

    def asked(self) -> list[tuple[str, str]]:
        """What was computed, at which point."""
        lines = [line.split() for line in self.calls.read_text().splitlines()]
        return [(what, x) for _, what, x in lines]

    def processes(self) -> set[int]:
        """Those that called the simulation."""
        return {int(line.split()[0]) for line in self.calls.read_text().splitlines()}


def on_file(checkpoint: Path) -> set[tuple[str, str]]:
    """What whole lines of the checkpoint answer, in the words of `Run.asked`."""
    if not checkpoint.exists():
        return set()
    whole = checkpoint.read_bytes().rpartition(b"\n")[0].splitlines()[1:]
    lines = [json.loads(line) for line in whole]
    words = [line["ask"].split()[0] for line in lines]
    return {
        (word, np.array(line["x"]["numbers"]).tobytes().hex())
        for word, line in zip(words, lines, strict=True)
    }


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, tuple[dict[str, Any], float]]:
    """The answer of a run that nobody kills and how long it took, with and without derivatives."""
    found = {}
    for exact in (False, True):
        run = Run(tmp_path_factory.mktemp("uninterrupted"), "whole", exact=exact)
        run.begun()
        start = time.monotonic()
        expected = run.answer()
        assert expected["success"] and expected["failures"]
        found[exact] = expected, time.monotonic() - start
    return found


def check_kill(index: int, folder: Path, uninterrupted: Any) -> None:
    """Kill a run at a random moment, some of them twice, and let it go on to the end."""
    random, kind = np.random.default_rng(index), KINDS[index % len(KINDS)]
    expected, seconds = uninterrupted[bool(kind.get("exact"))]
    known: set[tuple[str, str]] = set()
    for k in range(1 + index % 2):
        run = Run(folder, f"killed {k}", **kind)
        run.begun()
        time.sleep(random.uniform(0.0, 0.9 * seconds / kind["workers"] / (1 + index % 2)))
        run.kill()
        assert not known & set(run.asked())
        known = on_file(run.checkpoint)
    last = Run(folder, "last", **kind)
    assert last.answer() == expected
    assert not known & set(last.asked())


@pytest.mark.parametrize("index", range(SAMPLE))
def test_killed(index, tmp_path, uninterrupted):
    check_kill(index, tmp_path, uninterrupted)


@pytest.mark.slow
@pytest.mark.parametrize("index", range(SAMPLE, KILLS))
def test_killed_more(index, tmp_path, uninterrupted):
    check_kill(index, tmp_path, uninterrupted)


@pytest.mark.parametrize("left", ["half of the last line", "half of the first line"])
def test_a_file_that_was_cut_off(left, tmp_path, uninterrupted):
    run = Run(tmp_path, "killed", workers=2)
    run.begun()
    time.sleep(0.3 * uninterrupted[False][1])
    run.kill()
    content = run.checkpoint.read_bytes()
    lines = content.rstrip(b"\n").split(b"\n")
    assert len(lines) > 2
    half = len(content) - len(lines[-1]) // 2
    cut = {"half of the last line": half, "half of the first line": 20}[left]
    run.checkpoint.write_bytes(content[:cut])
    known = on_file(run.checkpoint)
    assert bool(known) == (left == "half of the last line")
    last = Run(tmp_path, "last", workers=1)  # another number of processes: the same answer
    assert last.answer() == uninterrupted[False][0]
    assert not known & set(last.asked())


def test_a_finished_run_is_repeated_without_a_call(tmp_path, uninterrupted):
    assert Run(tmp_path, "first", workers=2).answer() == uninterrupted[False][0]
    again = Run(tmp_path, "again")
    assert again.answer() == uninterrupted[False][0]
    assert not again.asked()


@linux
@pytest.mark.parametrize("hang", [False, True], ids=["at work", "hanging"])
def test_no_process_is_left_behind(hang, tmp_path):
    run = Run(tmp_path, "killed", workers=2, hang=hang)
    until = time.monotonic() + 60.0
    while len(run.processes() - {run.process.pid}) < (1 if hang else 2):
        assert time.monotonic() < until
        time.sleep(0.01)
    run.kill()
    time.sleep(ORPHANED)
    left = [pid for pid in run.processes() if Path(f"/proc/{pid}").exists()]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


if __name__ == "__main__":
    print(json.dumps(answer(solve(**json.loads(sys.argv[1])))))
