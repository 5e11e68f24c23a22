"""Every limit, and Ctrl-C, stops within one evaluation, and the best point so far is returned."""

from __future__ import annotations

import time

import numpy as np
import pytest

from softpenalty import Constraint, minimize
from softpenalty.solve.methods import METHODS
from softpenalty.solve.status import Status

START = [3.0, -2.0, 1.0]


class Counted:
    """A function that counts, and does something at one of its calls."""

    def __init__(self, at=None, action=None):
        self.calls, self.at, self.action = 0, at, action
        self.seen = []

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.at:
            self.action()
        value = float(((x - 1.0) ** 4).sum() + x[0] * x[1])
        self.seen.append((value, x.copy()))
        return value


def disc():
    return Constraint(lambda x: x @ x, "<", 20.0, name="disc")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("maxfev", [1, 2, 4, 5, 6, 11, 30])
def test_maxfev_is_never_exceeded(method, maxfev):
    fun = Counted()
    result = minimize(fun, START, constraints=disc(), maxfev=maxfev, method=method)
    assert fun.calls == result.nfev <= maxfev
    assert result.status == Status.EVALUATION_LIMIT.number
    assert not result.success
    assert result.x.shape == (3,)


def test_the_best_point_is_returned_even_if_it_has_no_derivatives_yet():
    whole = minimize(Counted(), START, constraints=disc())
    assert whole.success
    without = 0
    for maxfev in range(5, whole.nfev):
        fun = Counted()
        result = minimize(fun, START, constraints=disc(), maxfev=maxfev)
        feasible = [value for value, x in fun.seen if x @ x <= 20.0]
        assert result.fun <= feasible[0]
        assert result.fun == fun.seen[[(x == result.x).all() for _, x in fun.seen].index(True)][0]
        assert result.maxcv <= 1e-8
        unknown = np.isnan(result.jac).all()
        without += unknown
        assert np.isnan(result.kkt["stationarity"]) == unknown
        assert result.verdict == "feasible"
        assert "stationarity" in result.report()
    assert without > 3


@pytest.mark.parametrize("method", METHODS)
def test_time_is_looked_at_between_two_evaluations(method):
    calls = []

    def slow(x):
        calls.append(x)
        time.sleep(0.02)
        return float(x @ x)

    result = minimize(slow, np.arange(1.0, 31.0), max_time=0.1, method=method)
    assert len(calls) <= 6  # one stencil alone takes 30
    assert result.status == Status.TIME_LIMIT.number


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("at", [1, 3, 9, 14])
def test_interrupted_from_the_keyboard(method, at):
    fun = Counted(at, interrupt)
    result = minimize(fun, START, constraints=disc(), method=method)
    assert result.status == Status.INTERRUPTED.number
    assert not result.success
    assert "nterrupted" in result.message
    if at > 9:
        assert result.fun <= fun.seen[0][0]


def test_the_start_is_reported_where_nothing_else_is_known():
    result = minimize(Counted(), START, maxfev=1)
    assert result.fun == Counted()(np.array(START))
    np.testing.assert_array_equal(result.x, START)
    assert result.verdict == "undefined"


def test_iterations_are_limited_as_before():
    assert minimize(Counted(), START, maxiter=2).status == Status.ITERATION_LIMIT.number
