"""The points of differences evaluated at once, by everything that people have for it: the same answer."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from softpenalty import minimize
from solve.parallel_problem import arguments


@pytest.fixture(scope="module")
def serial() -> Any:
    return minimize(**arguments())


def check(result: Any, serial: Any) -> None:
    """Equal to the last bit, and as many simulations."""
    assert result.success and result.failures == serial.failures > 0
    np.testing.assert_array_equal(result.x, serial.x)
    assert (result.fun, result.nfev, result.njev, result.nit) == (
        serial.fun, serial.nfev, serial.njev, serial.nit,
    )  # fmt: skip
    assert result.failure_messages == serial.failure_messages
    for name, multipliers in serial.multipliers.items():
        np.testing.assert_array_equal(result.multipliers[name], multipliers)


@pytest.fixture(params=["processes", "executor", "executor.map", "threads", "pool", "pool.imap", "number"])
def workers(request: pytest.FixtureRequest) -> Iterator[Any]:
    kind = request.param
    context = multiprocessing.get_context("spawn")
    if kind == "number":
        yield 2
    elif kind == "processes":
        with ProcessPoolExecutor(2, mp_context=context) as executor:
            yield executor
    elif kind.startswith("executor"):
        with ProcessPoolExecutor(2) as executor:
            yield executor.map if kind == "executor.map" else executor
    elif kind == "threads":
        with ThreadPoolExecutor(2) as executor:
            yield executor
    else:
        with multiprocessing.Pool(2) as pool:
            yield pool.imap if kind == "pool.imap" else pool
            pool.terminate()


def test_pools(workers, serial):
    check(minimize(**arguments(), workers=workers), serial)


@pytest.mark.parametrize("form", ["client", "client.map"])
def test_dask(form, serial):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        check(minimize(**arguments(), workers=client if form == "client" else client.map), serial)


def test_objective_and_constraints_go_together(serial):
    """One call of the map for all columns of a Jacobian, and one task a point for all functions."""
    sizes = []

    def watched(function, points):
        points = list(points)
        sizes.append(len(points))
        return map(function, points)

    result = minimize(**arguments(), workers=watched)
    check(result, serial)
    assert sizes.count(4) + sizes.count(8) == result.njev  # one-sided and central ones of 4 variables
    assert set(sizes) == {4, 8}  # single points need no map
