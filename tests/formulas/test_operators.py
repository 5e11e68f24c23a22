"""Operators and saturations against Table 1 and Eqs. 6 and 7 as the paper prints them."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from softpenalty import KERNELS, OPERATORS, penalty_function, penalty_slope
from softpenalty.formulas.kernels import find_kernel
from softpenalty.formulas.operators import find_operator, violation

EPS = np.finfo(float).eps
BITS = 1400  # for the literal formulas where error/alpha is as small as 1e-300

TABLE_1 = {
    ("algebraic", "<"): lambda x, a: (mpmath.sqrt(4 * a**2 + x**2) + x) / 2,
    ("algebraic", "="): lambda x, a: mpmath.sqrt(4 * a**2 + x**2),
    ("algebraic", ">"): lambda x, a: (mpmath.sqrt(4 * a**2 + x**2) - x) / 2,
    ("softplus", "<"): lambda x, a: a * mpmath.log(1 + 2 ** (x / a), 2),
    ("softplus", "="): lambda x, a: 2 * a * mpmath.log(1 + 2 ** (x / a), 2) - x,
    ("softplus", ">"): lambda x, a: a * mpmath.log(1 + 2 ** (-x / a), 2),
}
SIGMOIDS = {  # Eqs. 6 and 7
    "softplus": lambda x, a, low, high: (high - low) / (1 + 2 ** (-x / a)) + low,
    "algebraic": lambda x, a, low, high: (
        x * (high - low) / (2 * mpmath.sqrt(4 * a**2 + x**2)) + (low + high) / 2
    ),
}
ratios = st.floats(-200, 200)
alphas = st.floats(1e-6, 1e2)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def rounding(ratio: float) -> float:
    """Return the relative error allowed: a few ulp, and error/alpha rounded in the exponent of softplus."""
    return (8 + abs(ratio)) * EPS


@pytest.mark.parametrize(("kernel", "operator"), TABLE_1)
@given(ratio=ratios, alpha=alphas)
def test_table_1(kernel, operator, ratio, alpha):
    error = ratio * alpha
    with mpmath.workprec(BITS):
        expected = float(TABLE_1[kernel, operator](mpf(error), mpf(alpha)))
    assert penalty_function(error, alpha, operator, kernel) == pytest.approx(expected, rel=rounding(ratio))


@pytest.mark.parametrize("kernel", SIGMOIDS)
@given(ratio=ratios, alpha=alphas, low=st.floats(-3, 3), rise=st.floats(0.01, 5))
def test_equations_6_and_7(kernel, ratio, alpha, low, rise):
    error, high = ratio * alpha, low + rise
    with mpmath.workprec(BITS):
        expected = float(SIGMOIDS[kernel](mpf(error), mpf(alpha), mpf(low), mpf(high)))
    slope = penalty_slope(error, alpha, kernel=kernel, beta_minus=low, beta_plus=high)
    # absolute, since saturations of different sign cancel somewhere
    assert slope == pytest.approx(expected, rel=0, abs=8 * EPS * max(abs(low), abs(high)))


@pytest.mark.parametrize("kernel", SIGMOIDS)
@pytest.mark.parametrize("operator", OPERATORS)
@given(ratio=ratios, alpha=alphas)
def test_the_slopes_of_the_operators_keep_their_digits(kernel, operator, ratio, alpha):
    error = ratio * alpha
    with mpmath.workprec(BITS):
        expected = float(SIGMOIDS[kernel](mpf(error), mpf(alpha), *map(mpf, OPERATORS[operator])))
    # relative: also where the slope of an equality vanishes with the error, as no difference of sides would
    assert penalty_slope(error, alpha, operator, kernel) == pytest.approx(
        expected, rel=rounding(ratio), abs=1e-320
    )


@every_kernel
@given(error=st.floats(-100, 100), alpha=st.floats(1e-3, 10))
def test_operators_mirror_and_add(kernel, error, alpha):
    below, equal, above = (penalty_function(error, alpha, operator, kernel) for operator in "<=>")
    assert above == penalty_function(-error, alpha, "<", kernel)
    assert equal == pytest.approx(below + above, rel=4 * EPS)
    slopes = [penalty_slope(error, alpha, operator, kernel) for operator in "<=>"]
    assert slopes[2] == -penalty_slope(-error, alpha, "<", kernel)
    assert slopes[1] == pytest.approx(slopes[0] + slopes[2], rel=0, abs=8 * EPS * max(map(abs, slopes)))


@every_kernel
@pytest.mark.parametrize(
    "betas", [(None, None), (0.0, 2.0), (-3.0, -1.0), (1.0, 4.0), (-0.5, 2.0), (-2.0, 0.5)]
)
@pytest.mark.parametrize("operator", OPERATORS)
def test_the_slope_is_the_derivative(kernel, operator, betas):
    if operator == ">" and betas == (None, None) and kernel == "quadratic":
        assert penalty_slope(-2.0, 1.0, ">", "quadratic") == -4
    errors = np.array([-7.3, -1.2, -0.4, 0.3, 0.7, 1.9, 8.1])  # no kink among them
    step = 1e-5

    def value(error):
        return penalty_function(error, 1.0, operator, kernel, *betas)

    differences = (value(errors + step) - value(errors - step)) / (2 * step)
    # truncation 4·step²/6, rounding 4·eps·(value ≤ 300)/step
    np.testing.assert_allclose(
        penalty_slope(errors, 1.0, operator, kernel, *betas), differences, rtol=0, atol=3e-8
    )


def test_far_from_the_target_the_slopes_are_the_saturations():
    for kernel in ("softplus", "algebraic", "linear", "huber"):
        for low, high in [(-0.5, 2.0), (0.25, 1.0), (-3.0, -1.0)]:
            far = penalty_slope(np.array([-math.inf, math.inf]), 0.1, "<", kernel, low, high)
            np.testing.assert_array_equal(far, [low, high])


def test_one_saturation_may_be_given():
    assert penalty_slope(1e9, 1.0, "=", beta_plus=5.0) == 5
    assert penalty_slope(-1e9, 1.0, "=", beta_plus=5.0) == -1
    assert penalty_slope(-1e9, 1.0, "<", beta_minus=-0.25) == -0.25


@pytest.mark.parametrize(("alias", "operator"), [("<=", "<"), ("==", "="), (">=", ">")])
def test_aliases(alias, operator):
    assert find_operator("call", alias) == find_operator("call", operator) == operator
    for function in (penalty_function, penalty_slope):
        assert function(0.3, 0.2, alias) == function(0.3, 0.2, operator)


def test_violation():
    errors = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(violation(errors, "<"), [0, 0, 3])
    np.testing.assert_array_equal(violation(errors, "=="), [2, 0, 3])
    np.testing.assert_array_equal(violation(errors, ">="), [2, 0, 0])
    assert violation(-2.0, ">") == 2.0
    assert type(violation(-2, "=")) is float


@pytest.mark.parametrize("function", [penalty_function, penalty_slope])
def test_bad_arguments_are_named(function):
    call = function.__name__
    with pytest.raises(
        ValueError, match=rf"`{call}\(operator=...\)` must be one of '<', '=', '>', .*; got '!='"
    ):
        function(1.0, 1.0, "!=")
    with pytest.raises(ValueError, match=rf"`{call}\(operator=...\)` must be one of .* got None"):
        function(1.0, 1.0, None)
    with pytest.raises(
        ValueError, match=rf"`{call}\(kernel=...\)` must be one of .* got 'logistic'"
    ) as caught:
        function(1.0, 1.0, "<", "logistic")
    assert all(repr(name) in str(caught.value) for name in KERNELS)
    for alpha in (0.0, -1.0, math.nan, math.inf, np.array([1.0, -1.0])):
        with pytest.raises(ValueError, match=rf"`{call}\(alpha=...\)` must be positive and finite; got "):
            function(1.0, alpha)
    for betas in [(1.0, 0.0), (1.0, 1.0), (math.nan, 1.0), (0.0, math.inf), (2.0, None)]:
        with pytest.raises(ValueError, match=rf"`{call}\(beta_minus=..., beta_plus=...\)` must be finite"):
            function(1.0, 1.0, "<", "softplus", *betas)


def test_a_kernel_object_is_as_good_as_its_name():
    kernel = KERNELS["algebraic"]
    assert find_kernel("call", kernel) is find_kernel("call", "algebraic") is kernel
    assert penalty_function(0.3, 0.2, "<", kernel) == penalty_function(0.3, 0.2, "<", "algebraic")
