"""The paper's own way and its repetition with balanced sigma."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, rosen, rosen_der

from softpenalty import Constraint, predicted_error
from softpenalty.solve.minimize import minimize
from softpenalty.solve.stopping import Status

AREA = Constraint(lambda x: x[0] * x[1], ">", 25.0, name="area")


def perimeter(x):
    return x[0] + x[1]


@pytest.mark.parametrize("kernel", ["softplus", "algebraic"])
def test_penalty_leaves_the_predicted_error(kernel):
    options = {"sigma": 0.6, "alpha": 0.05, "kernel": kernel}
    result = minimize(perimeter, [9.0, 1.0], constraints=AREA, method="penalty", options=options)
    multiplier = abs(result.multipliers["area"][0])
    expected = predicted_error(multiplier, 0.6, 0.05, ">", kernel)
    assert abs(AREA.fun(result.x) - 25.0) == pytest.approx(abs(expected), rel=1e-3)
    assert not result.success
    assert result.status == Status.ERROR_LEFT.number
    accepted = minimize(
        perimeter, [9.0, 1.0], constraints=AREA, method="penalty", options={**options, "constraint_tol": 0.05}
    )
    assert accepted.success


@pytest.mark.parametrize("combination", ["sum", "norm"])
def test_multiplier_method_reaches_the_solution(combination):
    result = minimize(
        perimeter, [9.0, 1.0], constraints=AREA, bounds=[(0, 10), (0, 10)], method="multiplier",
        options={"combination": combination},
    )  # fmt: skip
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [5.0, 5.0], atol=1e-4)
    assert result.multipliers["area"][0] == pytest.approx(-0.2, abs=1e-3)


def test_multiplier_method_with_an_equality():
    form = LinearConstraint([[1.0, 2.0], [2.0, 1.0]], [-np.inf, 1.0], [1.0, 1.0])
    result = minimize(rosen, [-1.0, -0.5], jac=rosen_der, constraints=form, method="multiplier")
    assert result.success, result.report()
    np.testing.assert_allclose(result.x, [0.41494475, 0.1701105], atol=1e-4)


def test_a_penalty_that_is_too_weak_is_not_called_success():
    options = {"sigma": 0.05, "alpha": 0.01}
    weak = minimize(perimeter, [9.0, 1.0], constraints=AREA, method="penalty", options=options)
    assert not weak.success


@pytest.mark.parametrize("method", ["penalty", "multiplier"])
def test_limits_and_callback(method):
    arguments = {"constraints": AREA, "method": method}
    assert minimize(perimeter, [9.0, 1.0], maxiter=2, **arguments).status == Status.ITERATION_LIMIT.number
    assert minimize(perimeter, [9.0, 1.0], maxfev=5, **arguments).status == Status.EVALUATION_LIMIT.number

    def stop(xk):
        raise StopIteration

    stopped = minimize(perimeter, [9.0, 1.0], callback=stop, **arguments)
    assert stopped.status == Status.CALLBACK.number and stopped.nit == 1
    assert minimize(lambda x: np.nan, [1.0], method=method).status == Status.INVALID_START.number
