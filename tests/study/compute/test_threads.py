"""BLAS has one thread where trials are computed, whatever the process was started with."""

import os
import subprocess
import sys

import pytest

from softpenalty.study.compute.methods import METHODS
from softpenalty.study.compute.run import run
from softpenalty.study.compute.threads import one_blas_thread

threadpoolctl = pytest.importorskip("threadpoolctl")

ASKED = {"experiments": ["solvers"], "configurations": ["slsqp"], "dimensions": [2], "samples": 1}


def blas_threads():
    libraries = threadpoolctl.threadpool_info()
    return {library["num_threads"] for library in libraries if library["user_api"] == "blas"}


def test_a_run_has_one_thread_and_gives_the_others_back(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    seen = []

    def spy(*arguments):
        seen.append(blas_threads())
        return solvers(*arguments)

    solvers = METHODS["solvers"]
    monkeypatch.setitem(METHODS, "solvers", spy)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        run(tmp_path, **ASKED)
        assert seen == [{1}, {1}]  # planes and spheres
        assert blas_threads() == {2}


def test_a_task_in_a_worker_started_without_a_limit_has_one_thread():
    """As under ``dask worker --no-nanny``: NumPy and SciPy are loaded before the task comes."""
    code = f"""if True:
        import scipy.linalg, threadpoolctl
        from softpenalty.study.compute.chunks import compute_elsewhere, plan
        from softpenalty.study.design.settings import Settings
        from softpenalty.study.design.experiments import choose
        def threads():
            return {{library["num_threads"] for library in threadpoolctl.threadpool_info()}}
        asked = {ASKED!r}
        chosen = choose(asked["experiments"], asked["dimensions"], asked["configurations"])
        chunk, *_ = plan(chosen, Settings(engine="scipy"), 1, {{}})
        before = threads()
        compute_elsewhere(chunk)
        print(before, threads())
    """
    environment = os.environ | dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "2"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "{2} {1}\n"


def test_the_study_runs_without_threadpoolctl(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with one_blas_thread():
        pass
