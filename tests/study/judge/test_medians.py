"""Medians and their bootstrap intervals."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty.study.judge.medians import median_of, resampled_medians


@pytest.mark.parametrize("size", [1, 2, 7, 30, 501])
def test_drawing_middle_ranks_is_the_bootstrap_of_the_median(size: int) -> None:
    values = np.random.default_rng(3).lognormal(size=37)
    resamples = np.random.default_rng(4).choice(values, (10_000, size))
    expected = np.quantile(np.median(resamples, axis=1), [0.1, 0.5, 0.9])
    found = np.quantile(resampled_medians(values, size), [0.1, 0.5, 0.9])
    # 10 000 draws place these quantiles within a rank of 37, here a tenth of the value
    np.testing.assert_allclose(found, expected, rtol=0.12)


def test_the_interval_is_the_same_on_every_call_and_holds_the_median() -> None:
    values = np.random.default_rng(5).lognormal(size=500)
    first = median_of(values)
    assert first == median_of(values[::-1])
    assert first.low < first.value < first.high
    assert first.value == np.median(values)


def test_trials_that_ran_away_do_not_spoil_the_median() -> None:
    values = np.append(np.linspace(1.0, 2.0, 90), np.full(10, np.inf))
    assert np.isfinite(median_of(values).high)


def test_intervals_cover_the_true_median_as_often_as_they_say() -> None:
    generator = np.random.default_rng(6)
    samples = generator.lognormal(size=(400, 101))
    held = np.mean([m.low <= 1.0 <= m.high for m in map(median_of, samples)])
    assert 0.91 < held < 0.98  # 95 % ± 3.6 standard deviations of 400 draws
