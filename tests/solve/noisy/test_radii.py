"""Radii: where derivatives that a model lacks equal the noise."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty.solve.noisy.radii import radii, third_derivatives


@pytest.mark.parametrize("noise", [1e-8, 1e-4])
def test_terms_that_are_left_out_equal_the_noise_there(noise):
    near, reach = radii(np.ones(1), np.array([noise]), np.array([3.0]), np.array([5.0]))
    assert 3.0 * near**2 / 2.0 == pytest.approx(noise)
    assert 5.0 * reach**3 / 6.0 == pytest.approx(noise)


def test_functions_without_weight_do_not_count():
    numbers = np.array([1e-6, 1.0]), np.array([2.0, 7.0]), np.array([2.0, 1e9])
    assert radii(np.array([1.0, 0.0]), *numbers) == radii(np.ones(1), *(part[:1] for part in numbers))


@pytest.mark.parametrize("rate", [2.0, 30.0])
def test_third_derivatives_of_an_exponential_follow_from_the_others(rate):
    J, second = np.array([[rate], [rate]]), np.array([rate**2, rate**2])
    third = third_derivatives(J, second, np.array([False, True]))
    assert third[1] == pytest.approx(rate**3)
    assert third[0] == second[0]  # an objective's gradient does not tell


def test_lengths_beyond_the_unit_and_gradients_that_vanish_change_nothing():
    J, second = np.array([[5.0, 0.0], [0.0, 0.0]]), np.array([1.0, 4.0])
    np.testing.assert_array_equal(third_derivatives(J, second, np.ones(2, dtype=bool)), second)
