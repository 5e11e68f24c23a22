"""Whether a matrix is positive definite, also where it is not even finite."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty.solve.sqp.curvature.convexify import is_definite


def test_definite_means_every_eigenvalue_above_the_smallest_allowed():
    B = np.diag([1.0, 3.0])
    assert is_definite(B, 0.5)
    assert not is_definite(B, 1.5)
    assert not is_definite(np.diag([1.0, -1e-8]), 0.0)
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    for lowest in (1e-3, -1e-3):
        B = (V * np.array([lowest, 1.0, 2.0, 3.0, 4.0, 5.0])) @ V.T
        before = B.copy()
        assert is_definite(B, 0.0) is (lowest > 0.0)
        np.testing.assert_array_equal(B, before)


@pytest.mark.parametrize("where", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_not_definite(where, value):
    B = np.diag([1.0, 3.0])
    B[where] = B[where[::-1]] = value
    assert not is_definite(B, 0.0)
