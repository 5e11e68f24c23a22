"""Chunks on a real Dask cluster of processes."""

import os
import signal
import warnings

import numpy as np
import pytest

from softpenalty.study import StudyError
from softpenalty.study.cluster import cluster_executor
from softpenalty.study.records import RECORDS_NAME, Records
from softpenalty.study.run import run

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
    monkeypatch.setattr("softpenalty.study.cluster.ANSWER_SECONDS", 1.0)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as empty,
        pytest.raises(StudyError, match="no workers"),
        cluster_executor(empty.scheduler_address),
    ):
        pass
