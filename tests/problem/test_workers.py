"""Processes that evaluate points: in order, several at once, ended where they hang."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from softpenalty import Constraint, minimize
from softpenalty.problem.functions import Failure, Functions, Sample
from softpenalty.problem.workers import Workers, mapping

POINTS = [np.array([float(i)]) for i in range(7)]


class CannotTravelError(Exception):
    """An exception that cannot be pickled."""

    def __init__(self, message):
        super().__init__(message)
        self.hook = lambda: None


def odd(x):
    if x[0] == 1.0:
        raise ValueError("not here")
    if x[0] == 2.0:
        time.sleep(60.0)
    if x[0] == 3.0:
        os._exit(11)
    if x[0] == 4.0:
        raise CannotTravelError("nor here")
    return 10.0 * x[0]


def alive(pids):
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_answers_come_in_order_and_every_failure_is_one(count):
    functions = Functions("minimize", odd, [])
    with Workers(functions, count, timeout=0.5) as workers:
        answers = list(workers.map(Sample(functions), POINTS))
    kinds = [type(a.error).__name__ if isinstance(a, Failure) else float(a[0][0]) for a in answers]
    assert kinds == [0.0, "ValueError", "EvaluationTimeoutError", "DiedError", "RuntimeError", 50.0, 60.0]
    assert str(answers[2].error) == "no answer within 0.5 s"
    assert str(answers[3].error) == "the process died with exit code 11"
    assert str(answers[4].error) == "CannotTravelError: nor here"


def test_nothing_is_left_of_them_afterwards_even_if_nobody_waits_for_the_answers():
    functions = Functions("minimize", lambda x: time.sleep(30.0) or 1.0, [])
    with Workers(functions, 2) as workers:
        asked = workers.map(Sample(functions), POINTS)
        pids: list[int] = []

        def look(*_):
            pids.extend(worker.process.pid for worker in workers._workers)
            raise KeyboardInterrupt

        workers._collect = look
        with pytest.raises(KeyboardInterrupt):
            next(asked)
        assert len(pids) == 2
        assert not alive(pids)


def test_a_hanging_simulation_is_stepped_back_from():
    def simulate(x):
        if x[0] > 3.0:
            time.sleep(60.0)
        return float((x[0] - 2.9) ** 2 + (x[1] - 1.0) ** 2 + x[0] * x[1] * 0.1)

    begun = time.perf_counter()
    result = minimize(simulate, [-20.0, 5.0], evaluation_timeout=0.3, constraints=Constraint(sum, ">", -90.0))
    assert result.success, result.message
    assert time.perf_counter() - begun < 30.0
    plain = minimize(lambda x: float((x[0] - 2.9) ** 2 + (x[1] - 1.0) ** 2 + x[0] * x[1] * 0.1), [0.0, 0.0])
    np.testing.assert_allclose(result.x, plain.x, atol=1e-5)


def test_a_timeout_is_told_by_kind():
    def simulate(x):
        if x[0] > 1.0:
            time.sleep(60.0)
        return (x[0] - 0.9) ** 4

    result = minimize(simulate, [-2.0], evaluation_timeout=0.2)
    assert result.failure_messages.get("timeout", "no answer within 0.2 s").startswith("no answer within")
    with pytest.raises(TimeoutError):
        minimize(lambda x: time.sleep(5.0) or 1.0, [0.0], evaluation_timeout=0.1, on_failure="raise")


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_change_nothing_but_the_time(workers):
    def fun(x):
        return float(((x - 1.0) ** 4).sum())

    row = Constraint(lambda x: [x @ x, x.sum()], "<", [1.5, 3.0])
    alone = minimize(fun, np.full(5, 0.2), constraints=row)
    together = minimize(fun, np.full(5, 0.2), constraints=row, workers=workers)
    np.testing.assert_array_equal(alone.x, together.x)
    assert alone.nfev == together.nfev


def test_mistakes_in_a_worker_are_passed_on():
    def wrong(x):
        return undefined_name  # noqa: F821

    with pytest.raises(NameError, match="undefined_name"):
        minimize(wrong, [1.0], evaluation_timeout=5.0)


@pytest.mark.parametrize("bad", [True, "two", object(), None])
def test_what_is_no_map_is_refused(bad):
    with pytest.raises(TypeError, match=r"`minimize\(workers=\.\.\.\)` must be a number of processes"):
        mapping(bad)


def test_a_timeout_needs_processes_of_our_own():
    with pytest.raises(ValueError, match=r"`minimize\(evaluation_timeout=\.\.\.\)` needs processes"):
        minimize(lambda x: x[0], [1.0], workers=map, evaluation_timeout=1.0)
    with pytest.raises(ValueError, match=r"workers"):
        minimize(lambda x: x[0], [1.0], workers=0)


def test_a_map_of_the_users():
    batches = []

    def remember(function, points):
        batches.append(len(points))
        return [function(point) for point in points]

    result = minimize(lambda x: float(x @ x), np.ones(4), workers=remember)
    assert result.success and set(batches) <= {4, 8}
