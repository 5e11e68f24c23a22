"""The merit functions: slope at the corner, exactness."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty.formulas.combinations import COMBINATIONS
from softpenalty.formulas.kernels import KERNELS
from softpenalty.formulas.penalty import penalty_and_multipliers
from softpenalty.solve.sqp.merit import ALPHA, BalancedMerit, ExactMerit

EQUALITY = np.array([False, True])


@pytest.mark.parametrize("equal", [False, True])
def test_slope_at_error_zero_is_the_multiplier(equal):
    y = np.array([3.0])
    merit = BalancedMerit(y, np.array([20.0]), np.array([equal]), ALPHA)
    h = 1e-6
    slope = (merit.penalty(np.array([h])) - merit.penalty(np.array([-h]))) / (2.0 * h)
    assert slope == pytest.approx(3.0, rel=1e-8)


def test_inequality_is_the_algebraic_kernel_with_sigma_twice_the_multiplier():
    errors = np.linspace(-2.0, 2.0, 9)
    merit = BalancedMerit(np.array([1.5]), np.zeros(1), np.array([False]), ALPHA)
    values = np.array([merit.penalty(np.array([e])) for e in errors])
    np.testing.assert_allclose(values, 3.0 * KERNELS["algebraic"].value(errors, ALPHA), atol=1e-12)


def test_balanced_merit_is_the_formula_up_to_its_constant():
    """Inequalities with sigma 2·|y|, equalities with a sigma of their own and y as their shift."""
    random = np.random.default_rng(2)
    m = 12
    equality = random.random(m) < 0.5
    y = np.where(equality, random.normal(size=m), np.abs(random.normal(size=m)))
    weights = random.uniform(0.0, 9.0, size=m)
    merit = BalancedMerit(y, weights, equality, ALPHA)
    sigma = np.where(equality, np.maximum(2.0 * np.abs(y), 0.5 * weights), COMBINATIONS["sum"].balance(y))
    shift = np.where(equality, y, 0.0)

    def both(errors):
        formula, _ = penalty_and_multipliers(errors, 1.0, equality, sigma, ALPHA, shift, "algebraic")
        return merit.penalty(errors), formula

    at_zero = np.subtract(*both(np.zeros(m)))
    assert at_zero == pytest.approx(0.0, abs=1e-13)  # the merit keeps the penalty's constants
    for errors in random.normal(size=(20, m)) * np.geomspace(1e-6, 1e3, m):
        found, expected = both(errors)
        assert found == pytest.approx(expected, rel=1e-13)  # sums of m terms in another order


def test_exact_merit_weighs_violations():
    merit = ExactMerit(np.array([2.0, 3.0]), EQUALITY)
    assert merit.penalty(np.array([0.5, -1.0])) == pytest.approx(1.0 + 3.0)
    assert merit.penalty(np.array([-0.5, 0.0])) == 0.0


def test_balanced_merit_is_smooth_and_convex():
    merit = BalancedMerit(np.array([1.0, -2.0]), np.array([3.0, 9.0]), EQUALITY, ALPHA)
    line = np.linspace(-1.0, 1.0, 201)
    for row in (0, 1):
        values = np.array([merit.penalty(np.eye(2)[row] * e) for e in line])
        assert (np.diff(values, 2) >= -1e-13).all()
