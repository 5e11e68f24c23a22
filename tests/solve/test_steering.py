"""Rows that cannot be met, weights that must grow, matrices that must be replaced."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty.solve.sqp.subproblem.steering import STEERING_GROWTH, Subproblem

BOX = np.full(2, -10.0), np.full(2, 10.0)


def conflict(gap: float, weight: float) -> tuple[Subproblem, object]:
    """A step paid 20 a unit of x, with the rows x ≤ −gap and x ≥ 0, of which no step meets both."""
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    subproblem = Subproblem(np.array([False, False]), 2, weight)
    step = subproblem.solve(np.array([-20.0, 0.0]), np.eye(2), rows, np.array([gap, 0.0]), *BOX)
    return subproblem, step


def test_the_weight_grows_while_that_lowers_the_linearized_violation():
    # Elastic rows of weight 1 lose to a gradient of 20: x runs off to its bound. Thirty are enough.
    subproblem, step = conflict(gap=1.0, weight=1.0)
    assert not step.met
    assert subproblem.nu == STEERING_GROWTH
    # x between −1 and 0: the least violation there is
    assert -1.0 - 1e-9 <= step.d[0] <= 1e-9


def test_a_weight_that_is_enough_stays():
    subproblem, step = conflict(gap=1.0, weight=1e4)
    assert subproblem.nu == 1e4
    assert not step.met
    assert -1.0 - 1e-9 <= step.d[0] <= 1e-9


def test_equalities_are_pulled_from_both_sides():
    for gap in (1.0, -1.0):
        rows = np.array([[1.0, 0.0], [1.0, 0.0]])  # x = −gap and x = 0
        subproblem = Subproblem(np.array([True, True]), 2, 1.0)
        g = np.array([-20.0 * gap, 0.0])
        step = subproblem.solve(g, np.eye(2), rows, np.array([gap, 0.0]), *BOX)
        assert not step.met
        assert subproblem.nu > 1.0
        assert min(0.0, -gap) - 1e-9 <= step.d[0] <= max(0.0, -gap) + 1e-9


def test_multipliers_of_elastic_rows_stay_within_the_weight():
    subproblem, step = conflict(gap=1.0, weight=1.0)
    assert np.abs(step.y).max() <= subproblem.nu * (1.0 + 1e-9)
    assert np.abs(step.y).max() == pytest.approx(subproblem.nu, rel=1e-6)


def test_rows_that_can_be_met_never_raise_the_weight():
    subproblem = Subproblem(np.array([False]), 2, 1.0)
    rows = np.array([[1.0, 0.0]])
    step = subproblem.solve(np.array([-100.0, 0.0]), np.eye(2), rows, np.array([1.0]), *BOX)
    assert step.met
    assert subproblem.nu == 1.0
    assert step.d[0] == pytest.approx(-1.0)
    assert step.y[0] == pytest.approx(101.0)  # far above the weight, because the hard QP has a solution
