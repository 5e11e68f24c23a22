"""Fig. 4 of the paper: where SciPy's BFGS ends with three penalties, from the formulas alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from softpenalty.formulas.penalty import penalty_and_multipliers

OBJECTIVE = np.array([0.2, 0.2])
NORMALS = np.array([[-1.0, 0.0], [np.sqrt(0.5), -np.sqrt(0.5)]])  # U₁ > 0 and U₂ > U₁, as errors < 0
START = [-9.0, -8.0]
ALPHA = 0.1


@pytest.mark.parametrize(
    ("kernel", "combination", "end", "iterations"),
    [
        ("quadratic", "sum", (-0.200, -0.400), 8),
        ("algebraic", "sum", (0.041, 0.177), 11),
        ("algebraic", "norm", (-0.009, 0.026), 15),
    ],
)
def test_end_points(kernel, combination, end, iterations):
    def penalized(x):
        penalty, multipliers = penalty_and_multipliers(
            NORMALS @ x, alpha=ALPHA, kernel=kernel, combination=combination
        )
        return OBJECTIVE @ x + penalty, OBJECTIVE + NORMALS.T @ multipliers

    result = scipy.optimize.minimize(penalized, START, jac=True, method="BFGS")
    assert result.success
    np.testing.assert_allclose(result.x, end, rtol=0, atol=2e-3)  # they are stated to three decimals
    assert abs(result.nit - iterations) <= 3  # the paper's SciPy was 1.6, with differenced gradients
