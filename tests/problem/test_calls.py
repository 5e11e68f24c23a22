"""Asking the user's functions: counts, failures by kind, the guard."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import Constraint, minimize
from softpenalty.problem.calls import Calls, NotFiniteError
from softpenalty.problem.functions import Functions, Sample

POINTS = [np.array([float(i), 1.0]) for i in range(5)]


def odd(x):
    if x[0] == 1.0:
        raise RuntimeError("did not converge")
    if x[0] == 2.0:
        return np.nan
    if x[0] == 3.0:
        raise RuntimeError("neither here")
    return x[0]


def calls(**settings):
    return Calls(Functions("minimize", odd, []), **settings)


def test_failures_are_counted_and_the_first_of_each_kind_is_told():
    asked = calls(forgiving=True)
    answers = asked.sample(Sample(asked.functions), POINTS)
    assert [answer is None for answer in answers] == [False, True, False, True, False]
    assert np.isnan(answers[2][0])
    assert (asked.points, asked.failures) == (5, 3)
    assert asked.messages == {
        "RuntimeError": "did not converge (at x = [1, 1])",
        "not finite": "a function returned nan (at x = [2, 1])",
    }


def test_strict_raises_for_nan_too():
    asked = calls(strict=True)
    with pytest.raises(NotFiniteError, match=r"returned nan at x = \[2, 1\]"):
        asked.sample(Sample(asked.functions), POINTS[2:])
    with pytest.raises(RuntimeError, match="did not converge"):
        asked.sample(Sample(asked.functions), POINTS)


def test_the_guard_is_asked_before_and_between_points():
    asked, told = calls(forgiving=True), []
    asked.guard = told.append
    asked.sample(Sample(asked.functions), POINTS)
    assert told == [5, 0, 0, 0, 0]
    asked.derivative("gradient", POINTS[0], lambda: 1.0)
    assert told[-1] == 0 and len(told) == 6


def test_a_long_point_is_shortened_in_messages():
    asked = Calls(Functions("minimize", lambda x: np.inf, []), forgiving=True)
    asked.sample(Sample(asked.functions), [np.arange(9.0)])
    assert asked.messages["not finite"].endswith("(at x = [0, 1, 2, 3, 4, 5, ...])")


def failing(x):
    if x[0] < 0.5:
        raise ArithmeticError("too cold")
    return x[0] + 1.0 / x[0]


def test_failures_in_the_result_and_raised_when_asked_for():
    row = Constraint(lambda x: x[0], "<", 40.0)
    result = minimize(failing, [30.0], constraints=row)
    assert result.success and result.failures > 0
    assert result.failure_messages["ArithmeticError"].startswith("too cold (at x = [")
    with pytest.raises(ArithmeticError, match="too cold"):
        minimize(failing, [30.0], constraints=row, on_failure="raise")
    with pytest.raises(NotFiniteError):
        minimize(lambda x: np.log(x[0] - 1.0) if x[0] > 1.0 else np.nan, [3.0], on_failure="raise")
    with pytest.raises(ValueError, match=r"`minimize\(on_failure=\.\.\.\)` must be 'backtrack' or 'raise'"):
        minimize(failing, [30.0], on_failure="ignore")


def test_a_start_that_fails_is_reported_after_its_attempts():
    def never(x):
        raise RuntimeError("no steam")

    result = minimize(never, [1.0, 2.0])
    assert result.status == 7 and "no steam" in result.message
    assert result.failures == result.nfev == 31  # the start and 30 points near it
