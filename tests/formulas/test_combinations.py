"""Sum and norm: value, multipliers, balance and strength."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from softpenalty import COMBINATIONS, KERNELS
from softpenalty.formulas.combinations import find_combination

EPS = np.finfo(float).eps
every_combination = pytest.mark.parametrize("combination", COMBINATIONS.values(), ids=COMBINATIONS.keys())
smooth_kernels = pytest.mark.parametrize("kernel", ["softplus", "algebraic"])


def penalty(combination, kernel, error, sigma, alpha):
    return combination.value(sigma * KERNELS[kernel].value(error, alpha))


def multipliers(combination, kernel, error, sigma, alpha):
    value, slope, _ = KERNELS[kernel].evaluate(error, alpha)
    return combination.multipliers(sigma * value, sigma * slope)


@every_combination
@given(terms=arrays(float, (4,), elements=st.floats(0, 1e100)))
def test_value_is_the_equation(combination, terms):
    expected = {"sum": math.fsum(terms), "norm": math.hypot(*terms)}[combination.name]  # Eqs. 4 and 8
    assert combination.value(terms) == pytest.approx(expected, rel=8 * EPS)  # 4 terms, each rounded


@every_combination
@smooth_kernels
@given(
    ratio=arrays(float, (3,), elements=st.floats(-6, 6)),
    sigma=arrays(float, (3,), elements=st.floats(0.1, 10)),
    alpha=arrays(float, (3,), elements=st.floats(0.01, 10)),
)
def test_multipliers_are_derivatives(combination, kernel, ratio, sigma, alpha):
    error, step = ratio * alpha, 1e-5 * alpha
    found = multipliers(combination, kernel, error, sigma, alpha)
    for i in range(3):
        move = np.where(np.arange(3) == i, step, 0.0)
        ahead, behind = (penalty(combination, kernel, error + s * move, sigma, alpha) for s in (1, -1))
        width = (error + move)[i] - (error - move)[i]
        # rounding: eps·penalty/step; truncation: step² times the third derivative of a term, and of the norm,
        # whose curvature grows as it shrinks: at six alphas inside it is still above 0.015·alpha·sigma
        largest = sigma[i] * max(1.0, alpha[i] * sigma[i] / ahead)
        tolerance = 8 * EPS * ahead / step[i] + 1e-9 * largest
        assert found[i] == pytest.approx((ahead - behind) / width, rel=0, abs=tolerance)


@every_combination
@smooth_kernels
@pytest.mark.parametrize("alpha", [np.full(3, 0.3), np.array([1e-4, 0.3, 70.0])], ids=["same", "different"])
def test_balance_leaves_no_error(combination, kernel, alpha):
    """At zero error, the multipliers of the balanced sigma are those it was balanced for."""
    wanted = np.array([0.02, 1.0, 30.0])
    sigma = combination.balance(wanted, alpha)
    np.testing.assert_allclose(
        multipliers(combination, kernel, np.zeros(3), sigma, alpha),
        wanted,
        rtol=16 * EPS,  # a dozen roundings
    )
    np.testing.assert_array_equal(combination.balance(-wanted, alpha), sigma)  # the size counts


def test_balance_of_one_constraint_is_twice_the_gradient():
    for combination in COMBINATIONS.values():
        np.testing.assert_allclose(combination.balance(np.array([3.0])), [6.0], rtol=4 * EPS)
    np.testing.assert_allclose(
        COMBINATIONS["norm"].balance(np.array([1.0, 3.0])),
        [2 * math.sqrt(4), 2 * math.sqrt(12)],
        rtol=4 * EPS,
    )


def test_strength():
    multipliers = np.array([3.0, -4.0, 0.0])
    assert COMBINATIONS["sum"].strength(multipliers) == 4
    assert COMBINATIONS["norm"].strength(multipliers) == pytest.approx(5, rel=4 * EPS)


@smooth_kernels
def test_a_penalty_holds_exactly_if_sigma_exceeds_the_strength(kernel):
    """Far out along the worst direction (for the norm, that of the multipliers) the slope is sigma."""
    wanted = np.array([3.0, 4.0])
    far = 1e9
    for name, direction in [("sum", np.array([0.0, 1.0])), ("norm", wanted / 5)]:
        combination = COMBINATIONS[name]
        strength = combination.strength(wanted)
        for factor in (0.99, 1.01):
            gain = (
                penalty(combination, kernel, far * direction, factor * strength, 1e-3)
                - far * wanted @ direction
            )
            assert (gain > 0) == (factor > 1)


@every_combination
@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e307])
def test_nothing_overflows_or_underflows_on_the_way(combination, size):
    terms = np.array([3.0, 4.0]) * size
    expected = {"sum": 7.0, "norm": 5.0}[combination.name] * size
    tolerance = 1e-13 if size < 1e-300 else 4 * EPS  # denormal numbers have fewer digits
    assert combination.value(terms) == pytest.approx(expected, rel=tolerance, abs=0)
    assert combination.strength(terms) == pytest.approx(
        {"sum": 4.0, "norm": 5.0}[combination.name] * size, rel=tolerance, abs=0
    )
    found = combination.multipliers(terms, np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, {"sum": [1, 2], "norm": [0.6, 1.6]}[combination.name], rtol=1e-13)
    if size < 1e307:
        balanced = combination.balance(terms) / size
        np.testing.assert_allclose(
            balanced,
            {"sum": [6, 8], "norm": [2 * math.sqrt(21), 2 * math.sqrt(28)]}[combination.name],
            rtol=1e-12,
        )


@every_combination
def test_terms_may_all_be_zero(combination):
    """Softplus underflows to that deep inside."""
    value, slope, _ = KERNELS["softplus"].evaluate(np.full(3, -1e4), 1.0)
    assert combination.value(value) == 0
    np.testing.assert_array_equal(combination.multipliers(value, slope), np.zeros(3))


@every_combination
def test_an_infinite_term_makes_an_infinite_penalty(combination):
    assert combination.value(np.array([1.0, math.inf])) == math.inf
    assert math.isnan(combination.value(np.array([1.0, math.nan])))


@every_combination
def test_no_constraint_no_penalty(combination):
    assert combination.value(np.empty(0)) == 0
    assert combination.multipliers(np.empty(0), np.empty(0)).shape == (0,)


@every_combination
def test_points_side_by_side(combination):
    random = np.random.default_rng(5)
    terms, slopes = random.random((2, 3, 5))
    terms[:, 2] = 0.0
    alone = [combination.value(column) for column in terms.T]
    np.testing.assert_allclose(combination.value(terms), alone, rtol=4 * EPS)
    alone = np.transpose(
        [combination.multipliers(term, slope) for term, slope in zip(terms.T, slopes.T, strict=True)]
    )
    np.testing.assert_allclose(combination.multipliers(terms, slopes), alone, rtol=4 * EPS)


@every_combination
def test_float32_is_kept(combination):
    terms = np.array([0.5, 2.0], dtype=np.float32)
    assert combination.value(terms).dtype == np.float32
    assert combination.multipliers(terms, terms).dtype == np.float32
    assert combination.balance(terms).dtype == np.float32


def test_finding_combinations():
    for name, combination in COMBINATIONS.items():
        assert find_combination("call", name) is find_combination("call", combination) is combination
        assert repr(combination) == f"COMBINATIONS[{name!r}]"
    for unknown in ("max", None, 2):
        with pytest.raises(ValueError, match=r"`call\(combination=...\)` must be one of 'sum', 'norm'; got "):
            find_combination("call", unknown)
