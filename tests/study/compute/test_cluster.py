"""Chunks on a real Dask cluster of processes."""

import os
import signal
import socket
import subprocess
import sys
import warnings

import numpy as np
import pytest

from softpenalty import cli
from softpenalty.study import StudyError
from softpenalty.study.compute.cluster import cluster_executor
from softpenalty.study.compute.run import run
from softpenalty.study.records import RECORDS_NAME, Records

distributed = pytest.importorskip("distributed")
pytest.importorskip("numba")

# Connections of a killed worker are found dead by the garbage collector, in Dask's code.
pytestmark = pytest.mark.filterwarnings("ignore")
SMALL = {"experiments": ["planes"], "dimensions": [2, 12], "samples": 200}


@pytest.fixture
def cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        yield local
        local.close()


def rows(out):
    with Records(out / RECORDS_NAME) as records:
        return records.select()


def test_a_killed_worker_loses_nothing_and_repeats_nothing(cluster, tmp_path):
    victims = [worker.process.pid for worker in cluster.workers.values()][:1]

    def kill_once(progress):
        if progress.done and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    added = run(tmp_path / "far", **SMALL, scheduler=cluster.scheduler_address, progress=kill_once)
    run(tmp_path / "near", **SMALL)
    far, near = rows(tmp_path / "far"), rows(tmp_path / "near")
    assert not victims
    assert far["problem"].size == added == 2 * 200 * 4
    assert all(np.array_equal(far[name], near[name]) for name in near)


def test_a_scheduler_without_workers_is_refused(monkeypatch):
    monkeypatch.setattr("softpenalty.study.compute.cluster.ANSWER_SECONDS", 1.0)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as empty,
        pytest.raises(StudyError, match="no workers"),
        cluster_executor(empty.scheduler_address),
    ):
        pass


@pytest.mark.slow  # two processes of Dask start
def test_a_scheduler_that_dies_is_one_line_and_the_study_goes_on(tmp_path, capsys, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address, quiet = f"tcp://127.0.0.1:{port}", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = [
        sys.executable,
        "-m",
        "dask",
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        port,
        "--no-dashboard",
    ]
    join = [
        sys.executable,
        "-m",
        "dask",
        "worker",
        address,
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
    ]
    # The worker waits for the scheduler to answer.
    processes = [
        subprocess.Popen(start, **quiet),
        subprocess.Popen([*join, "--death-timeout", "60"], **quiet),
    ]

    def kill_scheduler(self, trials, **seconds):
        added = append(self, trials, **seconds)
        processes[0].kill()
        return added

    append = Records.append
    monkeypatch.setattr("softpenalty.study.compute.cluster.ANSWER_SECONDS", 60.0)
    monkeypatch.setattr(Records, "append", kill_scheduler)
    asked = ["study", "run", "--experiments", "planes", "--dimensions", "12", "--samples", "200"]
    try:
        code = cli.main([*asked, "--out", str(tmp_path), "--scheduler", address])
    finally:
        for process in processes:
            process.kill()
            process.wait()
    captured = capsys.readouterr()
    assert code == 2
    errors = [line for line in captured.err.splitlines() if "left" not in line]  # the rest is progress
    assert len(errors) == 1 and "is gone" in errors[0] and captured.out == ""
    on_file = rows(tmp_path)["problem"].size
    assert 0 < on_file < 800
    monkeypatch.setattr(Records, "append", append)
    assert cli.main([*asked, "--out", str(tmp_path)]) == 0
    assert f"{800 - on_file} trials added" in capsys.readouterr().out
