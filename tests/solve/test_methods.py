"""A method is one function and one entry."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import minimize
from softpenalty.solve.methods import METHODS
from softpenalty.solve.outcome import Outcome, Solution
from softpenalty.solve.status import Status
from softpenalty.solve.tolerances import Tolerances


def projected_gradient(problem, options, watch):
    """Steps of fixed length against the gradient, cut at the bounds; no constraints but those."""
    x, status, iteration = problem.start, None, 0
    while status is None:
        g, J = problem.evaluation.derivatives(x)
        step = np.clip(x - 0.1 * g, problem.lower, problem.upper) - x
        if np.abs(step).max() <= 1e-8:
            status = Status.CONVERGED
        else:
            row = {"nit": iteration, "fun": problem.evaluation.values(x)[0], "maxcv": 0.0}
            status = watch.see(x, row)
            x, iteration = x + step, iteration + 1
    f, values = problem.evaluation.values(x)
    g, J = problem.evaluation.derivatives(x)
    z = np.where((x <= problem.lower) | (x >= problem.upper), -g, 0.0)
    solution = Solution(x, f, values, g, J, np.zeros(len(problem.rows)), z)
    return Outcome(solution, status, Tolerances(), lambda residual: np.abs(residual).max(), iteration)


@pytest.fixture
def _registered(monkeypatch):
    monkeypatch.setitem(METHODS, "projected gradient", projected_gradient)


@pytest.mark.usefixtures("_registered")
def test_a_method_of_ones_own():
    arguments = {"bounds": [(0.0, 2.0), (-3.0, 3.0)], "method": "projected gradient"}
    result = minimize(lambda x: (x[0] + 1.0) ** 2 + (x[1] - 1.0) ** 2, [1.0, 2.0], **arguments)
    assert result.success
    np.testing.assert_allclose(result.x, [0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(result.multipliers["bounds"], [-2.0, 0.0], atol=1e-6)
    assert len(result.history) == result.nit


@pytest.mark.usefixtures("_registered")
def test_it_is_watched_and_judged_like_any_other():
    def fun(x):
        return (x[0] - 1.0) ** 2

    stopped = minimize(fun, [3.0], method="projected gradient", maxiter=3)
    assert stopped.status == Status.ITERATION_LIMIT.number and len(stopped.history) == 4
    wrong = minimize(fun, [3.0], jac=lambda x: [0.0], method="projected gradient")
    assert wrong.success  # by the derivative that it was given
    broken = minimize(
        fun, [3.0], method="projected gradient", constraints={"type": "eq", "fun": lambda x: x - 5}
    )
    assert not broken.success  # converged, as it says, but not to what was asked
