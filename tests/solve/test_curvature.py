"""Secant and exact curvature: always definite, right on quadratics."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty.solve.sqp.curvature.convexify import definite, is_definite
from softpenalty.solve.sqp.curvature.secant import SETTINGS, SecantCurvature, damped_bfgs, secant_matrix
from softpenalty.solve.sqp.points import Point


def point(x, g, A):
    return Point(
        np.array(x, float), 0.0, np.zeros(len(A)), np.array(g, float), np.array(A, float).reshape(-1, len(x))
    )


@pytest.mark.parametrize("seed", range(10))
def test_secant_matrix_becomes_the_hessian_of_a_quadratic(seed):
    rng = np.random.default_rng(seed)
    n = 4
    M = rng.normal(size=(n, n))
    H = M @ M.T + np.eye(n)
    curvature = SecantCurvature(n, 0)
    old = point(rng.normal(size=n), np.zeros(n), [])
    old.g = H @ old.x
    curvature.begin(old, 1.0)
    none = np.zeros(0, dtype=bool)
    for _ in range(n + 2):
        new = point(old.x + rng.normal(size=n), np.zeros(n), [])
        new.g = H @ new.x
        B = curvature.move(old, new, np.zeros(0), none)
        old = new
    np.testing.assert_allclose(B, H, rtol=1e-6, atol=1e-6)


def test_all_pairs_follow_the_multipliers():
    # One constraint x², objective 0: the Hessian of the Lagrangian is 2y for whatever y is now.
    curvature = SecantCurvature(1, 1)
    old, new = point([1.0], [0.0], [[2.0]]), point([2.0], [0.0], [[4.0]])
    curvature.begin(old, 1.0)
    curvature.move(old, new, np.array([1.0]), np.array([True]))
    for y in (0.5, 3.0):
        now = np.array([y]), np.zeros((1, 1)), np.array([False])
        B, _ = secant_matrix(*curvature._pairs, curvature.count, *now, curvature.scalar, SETTINGS)
        np.testing.assert_allclose(B, [[2.0 * y]])


@pytest.mark.parametrize("seed", range(20))
def test_always_definite(seed):
    rng = np.random.default_rng(seed)
    n, m = 3, 2
    curvature = SecantCurvature(n, m)
    old = point(rng.normal(size=n), rng.normal(size=n), rng.normal(size=(m, n)))
    curvature.begin(old, 1.0)
    for _ in range(30):
        new = point(rng.normal(size=n), rng.normal(size=n), rng.normal(size=(m, n)))
        B = curvature.move(old, new, rng.normal(size=m), np.array([True, False]))
        assert is_definite(B, 0.0) and np.isfinite(B).all()
        old = new
    assert curvature.count == curvature.memory


def test_damped_bfgs_survives_negative_curvature():
    S, Y = np.eye(3), -np.eye(3)
    B = damped_bfgs(S, Y, np.ones(3), -np.ones(3), 1.0)
    assert is_definite(B, 0.0)


def test_definite_keeps_what_is_definite_and_the_step_where_rows_are_active():
    H = np.diag([2.0, 3.0])
    assert definite(H, np.zeros((0, 2))) is H
    saddle = np.diag([1.0, -1.0])
    augmented = definite(saddle, np.array([[0.0, 1.0]]))
    assert is_definite(augmented, 0.0)
    np.testing.assert_allclose(augmented[0], saddle[0])  # unchanged along the constraint
    assert is_definite(definite(saddle, np.zeros((0, 2))), 0.0)
