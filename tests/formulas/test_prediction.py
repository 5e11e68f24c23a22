"""Predicted errors against Eqs. 10–14 as printed and against minimization; recommended parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from softpenalty import KERNELS, OPERATORS, penalty_function, penalty_slope, predicted_error, recommend

EPS = np.finfo(float).eps
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_operator = pytest.mark.parametrize("operator", OPERATORS)

EQUATIONS = {  # as printed, with ∇ the gradient
    ("quadratic", "<"): lambda gradient, sigma, alpha: abs(gradient / (2 * sigma)),  # 10
    ("algebraic", "<"): lambda gradient, sigma, alpha: abs(
        alpha * math.sqrt(1 / (gradient * (sigma - gradient))) * (sigma - 2 * gradient)
    ),  # 11
    ("algebraic", "="): lambda gradient, sigma, alpha: abs(
        2 * gradient * alpha * math.sqrt(1 / ((sigma - gradient) * (gradient + sigma)))
    ),  # 12
    ("softplus", "<"): lambda gradient, sigma, alpha: abs(
        alpha * math.log2(gradient / (sigma - gradient))
    ),  # 13
    ("softplus", "="): lambda gradient, sigma, alpha: abs(
        alpha * math.log2((gradient + sigma) / (sigma - gradient))
    ),  # 14
}
fractions = st.floats(0.001, 0.999)
scales = st.floats(1e-3, 1e3)


@pytest.mark.parametrize(("kernel", "operator"), EQUATIONS)
@given(fraction=fractions, sigma=scales, alpha=scales)
def test_equations_10_to_14(kernel, operator, fraction, sigma, alpha):
    gradient = fraction * sigma
    expected = EQUATIONS[kernel, operator](gradient, sigma, alpha)
    # 1 − fraction ≥ 0.001 multiplies the rounding of the fraction by up to 1000
    found = predicted_error(gradient, sigma, alpha, operator, kernel)
    assert found == pytest.approx(expected, rel=8e3 * EPS, abs=8 * EPS * alpha)
    assert predicted_error(-gradient, sigma, alpha, operator, kernel) == found
    if operator == "<":
        assert predicted_error(gradient, sigma, alpha, ">", kernel) == found


@every_kernel
@every_operator
@pytest.mark.parametrize("fraction", [0.03, 0.4, 0.5, 0.77, 0.98])
def test_the_predicted_error_is_where_slope_and_gradient_balance(kernel, operator, fraction):
    """Eq. 9: the objective falls across the constraint with `gradient`; the penalty stops it."""
    sigma, alpha = 3.0, 0.2
    gradient = fraction * sigma
    toward = -1.0 if operator == ">" else 1.0  # where the objective falls
    predicted = predicted_error(gradient, sigma, alpha, operator, kernel)

    def balance(error):
        return sigma * penalty_slope(error, alpha, operator, kernel) - toward * gradient

    root = scipy.optimize.brentq(balance, -100.0, 100.0, xtol=1e-15, rtol=4 * EPS)
    # found to 1e-14 where the slope's own rounding, eps over curvature, allows no better
    assert abs(root) == pytest.approx(predicted, rel=1e-12, abs=2e-14)


@every_kernel
@every_operator
@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.8])
def test_the_predicted_error_is_the_minimum(kernel, operator, fraction):
    sigma, alpha = 2.0, 0.1
    gradient = fraction * sigma
    toward = -1.0 if operator == ">" else 1.0

    def penalized(error):
        return sigma * penalty_function(error, alpha, operator, kernel) - toward * gradient * error

    minimum = scipy.optimize.minimize_scalar(penalized, bracket=(-1.0, 1.0), tol=1e-10)
    # a minimum is found to √eps of the scale only: its neighbours have the same value
    assert abs(minimum.x) == pytest.approx(
        predicted_error(gradient, sigma, alpha, operator, kernel), rel=0, abs=2e-7
    )


@every_kernel
@every_operator
def test_too_weak_a_penalty_leaves_an_infinite_error(kernel, operator):
    for gradient in (2.0, 2.5, -3.0, 1e300):
        error = predicted_error(gradient, 2.0, 0.1, operator, kernel)
        assert error == (abs(gradient) / 4 if kernel == "quadratic" else math.inf)
    assert predicted_error(math.nextafter(2.0, 0), 2.0, 0.1, operator, kernel) < math.inf


@every_kernel
def test_without_a_gradient(kernel):
    """Nothing holds the minimum of a smooth inequality near its target; an equality is met."""
    assert predicted_error(0.0, 1.0, 0.1, "=", kernel) == 0
    expected = math.inf if kernel in ("softplus", "algebraic") else 0
    assert predicted_error(0.0, 1.0, 0.1, "<", kernel) == expected


def test_twice_the_gradient_leaves_no_error():
    for kernel in ("softplus", "algebraic"):
        assert predicted_error(1.7, 3.4, 0.1, "<", kernel) == 0


def test_slopes_near_a_half_agree_at_alpha_ln_2():
    """The remark below Eq. 14: softplus with alpha = ln 2 and algebraic with alpha 1... to first order."""
    softplus = predicted_error(0.5 + 1e-6, 1.0, math.log(2), "<", "softplus")
    algebraic = predicted_error(0.5 + 1e-6, 1.0, 1.0, "<", "algebraic")
    assert softplus == pytest.approx(algebraic, rel=1e-9)  # the orders beyond: 1e-12; rounding eps/1e-6


@every_kernel
@every_operator
def test_arrays_and_types(kernel, operator):
    gradient = np.array([0.3, 1.0, 5.0])
    sigma = np.array([[2.0], [4.0]])
    found = predicted_error(gradient, sigma, 0.1, operator, kernel)
    one_by_one = [[predicted_error(g, s, 0.1, operator, kernel) for g in (0.3, 1.0, 5.0)] for s in (2.0, 4.0)]
    np.testing.assert_allclose(found, one_by_one, rtol=8 * EPS)  # loops of different length may round
    assert type(predicted_error(1, 2, 1, operator, kernel)) is float
    assert predicted_error(gradient.astype(np.float32), 2.0, 0.1, operator, kernel).dtype == np.float32


@every_kernel
@every_operator
@given(gradient=scales, tolerance=st.floats(1e-9, 1e3), factor=st.floats(1, 30), where=st.floats(-1, 1))
def test_recommended_parameters_keep_the_tolerance(kernel, operator, gradient, tolerance, factor, where):
    sigma, alpha, error = recommend(gradient, tolerance, operator, kernel, factor)
    # sigma − gradient·factor is gradient/factor: 1/factor² of sigma, whose rounding grows by factor² ≤ 900
    allowed = tolerance * (1 + 1e4 * EPS)
    assert 0 <= error <= allowed
    for true in (gradient / factor, gradient * factor, gradient * factor**where):
        assert predicted_error(true, sigma, alpha, operator, kernel) <= allowed
    assert error == predicted_error(gradient * factor, sigma, alpha, operator, kernel)


@pytest.mark.parametrize("kernel", ["softplus", "algebraic"])
def test_recommended_alpha_is_no_smaller_than_it_must_be(kernel):
    _, _, error = recommend(3.0, 1e-3, "<", kernel, factor=4.0)
    assert error == pytest.approx(1e-3, rel=1e-12)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if KERNELS[name].saturates])
@every_operator
def test_a_known_gradient_asks_for_twice_as_much(kernel, operator):
    choice = recommend(0.7, 1e-3, operator, kernel, factor=1.0)
    assert choice.sigma == 1.4
    assert choice.alpha <= 1e-3
    if operator != "=" and kernel != "huber":
        assert choice.error == 0


def test_recommend_takes_arrays():
    choice = recommend(np.array([1.0, 2.0]), 1e-3)
    assert choice.sigma.shape == choice.alpha.shape == choice.error.shape == (2,)
    np.testing.assert_allclose(choice.sigma, [1.0 * (1.5 + 1 / 1.5), 2.0 * (1.5 + 1 / 1.5)], rtol=4 * EPS)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [list, tuple])
def test_recommend_takes_lists(kernel, kind):
    gradient, tolerance = np.array([1.0, 2.0]), np.array([1e-3, 1e-2])
    expected = recommend(gradient, tolerance, kernel=kernel)
    found = recommend(kind(gradient), kind(tolerance), kernel=kernel)
    for part, same in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part, same)
    np.testing.assert_array_equal(recommend(kind([1, 2]), 1e-3).sigma, recommend(gradient, 1e-3).sigma)


def test_bad_arguments_are_named():
    for sigma in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(
            ValueError, match=r"`predicted_error\(sigma=...\)` must be positive and finite; got "
        ):
            predicted_error(1.0, sigma, 0.1)
    with pytest.raises(
        ValueError, match=r"`predicted_error\(alpha=...\)` must be positive and finite; got 0"
    ):
        predicted_error(1.0, 2.0, 0)
    with pytest.raises(ValueError, match=r"`predicted_error\(operator=...\)` must be one of"):
        predicted_error(1.0, 2.0, 0.1, "~")
    with pytest.raises(ValueError, match=r"`predicted_error\(kernel=...\)` must be one of"):
        predicted_error(1.0, 2.0, 0.1, "<", "cubic")
    with pytest.raises(ValueError, match=r"`recommend\(gradient=...\)` must be positive and finite; got 0.0"):
        recommend(0.0, 1e-3)
    with pytest.raises(ValueError, match=r"`recommend\(tolerance=...\)` must be positive and finite; got -1"):
        recommend(1.0, -1)
    for factor in (0.5, math.inf, math.nan):
        with pytest.raises(
            ValueError, match=r"`recommend\(factor=...\)` must be at least 1 and finite; got "
        ):
            recommend(1.0, 1e-3, factor=factor)
    assert predicted_error(1.0, 2.0, None, "<", "quadratic") == 0.25  # alpha is not used
