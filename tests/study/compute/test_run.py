"""A run records every trial once, whoever computes it and however often it is stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from softpenalty.study import StudyError
from softpenalty.study.compute.chunks import compute, plan
from softpenalty.study.compute.run import run
from softpenalty.study.design.experiments import CONFIGURATIONS, EXPERIMENTS, STANDARD, choose
from softpenalty.study.design.settings import Settings
from softpenalty.study.records import RECORDS_NAME, Records

pytest.importorskip("numba")

SMALL = {"experiments": ["planes", "spheres", "exact", "balance"], "dimensions": [2, 5], "samples": 12}


def rows(out):
    """All columns; records are compared to the last bit."""
    with Records(out / RECORDS_NAME) as records:
        return records.select()


def assert_same_rows(first, second):
    assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    out = tmp_path_factory.mktemp("reference")
    run(out, **SMALL, workers=1)
    return rows(out)


def test_every_trial_is_there_once(reference):
    cells = 2 * 12 * (4 + 4 + 4 + 2 + 2)  # two dimensions, 12 problems, configurations of five cells
    assert reference["problem"].size == cells
    assert np.all(np.isfinite(reference["distance"]))
    assert set(reference["seed"]) == {2021}


def test_rows_do_not_depend_on_workers(reference, tmp_path):
    run(tmp_path, **SMALL, workers=4)
    assert_same_rows(rows(tmp_path), reference)


def test_rows_do_not_depend_on_chunks_or_configurations(reference, tmp_path):
    for configurations in (["courant-beltrami"], ["algebraic norm", "balance sum"], None):
        run(tmp_path, **SMALL, configurations=configurations)
    assert_same_rows(rows(tmp_path), reference)


def test_infeasible_rows_do_not_depend_on_configurations():
    """The reference point of an infeasible problem comes from all four configurations."""
    infeasible = next(i for i in range(1000) if not _feasible(5, i))
    settings = Settings()
    whole, part = (
        compute(plan(choose(["planes"], [5], names), settings, infeasible + 1, {}, 1)[-1]).trials
        for names in (None, ["softplus norm"])
    )
    assert whole[-1].problem == infeasible and not whole[-1].feasible
    assert [t for t in whole if t.configuration == "softplus norm"] == part


def _feasible(dimension, index):
    from softpenalty.study.design.problems import draw

    return draw("planes", dimension, index, seed=2021).feasible


def test_more_samples_add_only_the_missing(reference, tmp_path):
    run(tmp_path, **(SMALL | {"samples": 5}))
    seen = []
    added = run(tmp_path, **SMALL, progress=seen.append)
    assert added == reference["problem"].size * 7 // 12
    assert seen[-1].done == seen[-1].total == added and seen[-1].fraction == pytest.approx(1.0)
    assert_same_rows(rows(tmp_path), reference)
    assert run(tmp_path, **SMALL) == 0


def test_seeds_and_modes_differ(reference, tmp_path):
    run(tmp_path, **SMALL, seed=1)
    assert not np.array_equal(rows(tmp_path)["distance"], reference["distance"])
    with pytest.raises(StudyError, match="--problems"):
        run(tmp_path, **SMALL, seed=1, problems="corrected")


def test_scipy_engine_in_processes(tmp_path):
    small = {"experiments": ["spheres"], "dimensions": [2], "samples": 3, "engine": "scipy"}
    run(tmp_path / "two", **small, workers=2)
    run(tmp_path / "one", **small, workers=1)
    assert_same_rows(rows(tmp_path / "two"), rows(tmp_path / "one"))


def test_solvers_are_near_the_solution(tmp_path):
    notes = []
    run(tmp_path, experiments=["solvers"], dimensions=[2], samples=3, note=notes.append)
    found = rows(tmp_path)
    slsqp = found["configuration"] == "slsqp"
    assert np.sum(slsqp) == 6
    assert np.all(found["distance"][slsqp] < 1e-2)  # SLSQP stops at 1e-6 of the objective
    assert bool(notes) != ("minimize" in found["configuration"])


def test_interruption_keeps_what_is_finished(reference, tmp_path):
    def interrupt(progress):
        if progress.fraction > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, **SMALL, progress=interrupt)
    assert 0 < rows(tmp_path)["problem"].size < reference["problem"].size
    run(tmp_path, **SMALL)
    assert_same_rows(rows(tmp_path), reference)


def test_killed_run_goes_on_and_ends_with_the_same_rows(tmp_path):
    arguments = ["--experiments", "planes", "--dimensions", "2", "20", "--samples", "100"]
    command = [sys.executable, "-m", "softpenalty.cli", "study", "run", *arguments, "--workers", "1", "--out"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, whole], check=True, capture_output=True)
    for _ in range(2):
        process = subprocess.Popen([*command, killed], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = _count(killed)
        deadline = time.monotonic() + 60.0
        while _count(killed) == before and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 0 < _count(killed) < _count(whole)
    subprocess.run([*command, killed], check=True, capture_output=True)
    assert_same_rows(rows(killed), rows(whole))


def _count(out):
    if not (out / RECORDS_NAME).exists():
        return 0
    with Records(out / RECORDS_NAME) as records:
        return len(records)


def test_workers_of_a_killed_run_end_too(tmp_path):
    """Processes of the SciPy engine must not outlive their parent."""
    command = [sys.executable, "-m", "softpenalty.cli", "study", "run", "--engine", "scipy", "--workers", "2"]
    options = ["--experiments", "planes", "--dimensions", "20", "--samples", "50", "--out", tmp_path]
    process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children = _wait(lambda: _children(process.pid), lambda found: len(found) >= 2)
    process.kill()
    process.wait()
    assert _wait(lambda: [pid for pid in children if _alive(pid)], lambda left: not left) == []


def _children(pid):
    path = f"/proc/{pid}/task/{pid}/children"
    with open(path) as file:  # noqa: PTH123
        return [int(child) for child in file.read().split()]


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait(measure, enough, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not enough(found := measure()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


# ------------------------------------------------------------------------------------------ experiments


def test_experiments_are_those_of_the_paper():
    assert [c.name for c in STANDARD] == [
        "algebraic norm",
        "algebraic sum",
        "courant-beltrami",
        "softplus norm",
    ]
    sigma, alpha = EXPERIMENTS["sigma"], EXPERIMENTS["alpha"]
    assert len(sigma.configurations) == 7 * 4 and len(alpha.configurations) == 7 * 3
    assert {c.sigma for c in sigma.configurations} == {10.0**k for k in range(1, 8)}
    assert {c.alpha for c in alpha.configurations} == {float(f"1e-{k}") for k in range(1, 8)}
    assert {c.sigma for c in alpha.configurations} == {15.0}
    assert "minimize" in CONFIGURATIONS


@pytest.mark.parametrize(
    "wrong", [{"samples": 0}, {"seed": -1}, {"workers": 0}, {"experiments": ["x"]}, {"dimensions": [7]}]
)
def test_bad_input_is_refused_before_anything_is_written(tmp_path, wrong):
    with pytest.raises(StudyError, match=f"--{next(iter(wrong))}"):
        run(tmp_path / "out", **(SMALL | wrong))
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_memory_stays_small(tmp_path):
    # VmHWM, not getrusage: that one passes on the peak of the process that started this one.
    code = (
        "from softpenalty.study.compute.run import run; "
        f"run({os.fspath(tmp_path)!r}, samples=25, dimensions=[50], experiments=['planes']); "
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 1e6  # kilobytes
