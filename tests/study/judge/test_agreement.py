"""The test that tells a faithful study from a wrong one, and how often it errs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from softpenalty.study.design.published import EFFECTIVE_SAMPLES
from softpenalty.study.judge.agreement import LEVEL, Agreement, agreement, score, sign_correlation

Floats = NDArray[np.float64]
GROUPS, FIGURES = 6, 8  # sets of problems; configurations times quantities, as in the table


def draw(generator: np.random.Generator, samples: int) -> Floats:
    """Figures (FIGURES, samples) of the same problems, correlated by 0.8 and skewed; half of them counts."""
    common = generator.normal(size=samples)
    values = np.exp(np.sqrt(0.8) * common + np.sqrt(0.2) * generator.normal(size=(FIGURES, samples)))
    values[::2] = np.ceil(20.0 * values[::2])
    return values


def study(generator: np.random.Generator, samples: int, factors: Floats) -> Agreement:
    """A study whose figures are wrong by `factors` (GROUPS, FIGURES) beside a published table."""
    groups = []
    for factor in factors:
        published = np.median(draw(generator, EFFECTIVE_SAMPLES), axis=-1)
        values = draw(generator, samples) * factor[:, None]
        groups.append((score(values, published), sign_correlation(values)))
    return agreement(groups)


@pytest.mark.parametrize("samples", [100, 500])
def test_faithful_studies_fail_as_often_as_stated(samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softpenalty.study.judge.agreement.FAITHFUL_STUDIES", 2000)
    generator = np.random.default_rng(1)
    faithful = np.ones((GROUPS, FIGURES))
    found = [study(generator, samples, faithful) for _ in range(200)]
    # At 1 %, 200 studies hold 7 failures or more with a probability of 0.4 %.
    assert sum(not each.holds for each in found) <= 6
    # A chance of p is reached by a share p of the studies: within 3.5 standard deviations of 200 draws, on
    # the safe side of which counts lie, because ties are resolved in favour of the study.
    for chance in (0.05, 0.2, 0.5):
        room = 3.5 * np.sqrt(chance * (1.0 - chance) / 200)
        assert np.mean([each.largest_chance <= chance for each in found]) <= chance + room
        assert np.mean([each.total_chance <= chance for each in found]) <= chance + room
    assert np.mean([each.largest_chance <= 0.5 for each in found]) >= 0.25  # it is not idle either


def test_one_figure_that_is_wrong_is_found_by_the_largest_score() -> None:
    factors = np.ones((GROUPS, FIGURES))
    factors[3, 5] = 2.0
    found = study(np.random.default_rng(2), 500, factors)
    assert not found.largest_holds
    assert not found.holds


def test_many_figures_that_are_a_little_wrong_are_found_together() -> None:
    found = study(np.random.default_rng(3), 500, np.full((GROUPS, FIGURES), 1.25))
    assert not found.total_holds
    assert not found.holds


@pytest.mark.parametrize("samples", [50, 200])
def test_scores_have_unit_variance_whatever_the_distribution(samples: int) -> None:
    generator = np.random.default_rng(4)
    values = generator.lognormal(sigma=3.0, size=(4000, samples))
    published = np.median(generator.lognormal(sigma=3.0, size=(4000, EFFECTIVE_SAMPLES)), axis=-1)
    scores = score(values, published)
    assert np.std(scores) == pytest.approx(1.0, abs=0.04)  # 3.5 standard deviations of 4000 draws
    assert np.mean(np.abs(scores) > norm.isf(0.025)) == pytest.approx(0.05, abs=0.013)


def test_a_median_that_ties_with_trials_is_not_off() -> None:
    values = np.repeat([10.0, 11.0, 12.0], [20, 60, 20])
    assert score(values, 11.0) == 0.0
    # 12 would be the median of a sample that has a fifth of its trials, not a tenth, in the upper half
    deviation = np.sqrt(1.0 / 100 + 1.0 / EFFECTIVE_SAMPLES) / 2.0
    assert score(values, 12.0) == pytest.approx(0.3 / deviation)
    assert score(values, 9.0) == pytest.approx(-0.5 / deviation)


def test_trials_that_ran_away_count_as_above() -> None:
    assert score(np.array([1.0, np.inf, np.inf]), 2.0) < 0.0


def test_correlations_are_those_of_medians() -> None:
    generator = np.random.default_rng(5)
    many = np.stack([draw(generator, 400)[1::2] for _ in range(2000)])
    medians = np.corrcoef(np.median(many, axis=-1).T)
    signs = np.mean([sign_correlation(values) for values in many[:200]], axis=0)
    np.testing.assert_allclose(signs, medians, atol=0.06)  # 2000 medians place a correlation within 0.02
    same = np.tile(generator.normal(size=30), (2, 1))
    np.testing.assert_allclose(sign_correlation(same), np.ones((2, 2)))
    np.testing.assert_allclose(sign_correlation(np.ones((2, 5))), np.eye(2))


def test_the_level_is_one_percent() -> None:
    assert LEVEL == 0.01
    values = np.random.default_rng(6).lognormal(size=(1, 500))
    # One figure: the chance of its score is that of a normal number, to the scatter of 20 000 draws.
    found = agreement([(np.array([2.0]), sign_correlation(values))])
    assert found.largest_chance == pytest.approx(2.0 * norm.sf(2.0), abs=0.005)
    assert found.total_chance == found.largest_chance
