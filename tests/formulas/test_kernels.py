"""The kernels: laws for any error and alpha, then special values, then how arrays are handled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from softpenalty import KERNELS
from softpenalty.formulas.arrays import BLOCK

EPS = np.finfo(float).eps
LEAST = 5e-324  # the least float: what two results that underflow may differ by
SMOOTH = [KERNELS["softplus"], KERNELS["algebraic"]]

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
smooth_kernels = pytest.mark.parametrize("kernel", SMOOTH, ids=lambda kernel: kernel.name)
float_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])

errors = st.floats(-1e6, 1e6)
alphas = st.floats(1e-8, 1e3)
fractions = st.floats(0.0, 1.0, exclude_min=True, exclude_max=True)


# --- laws -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softplus", "algebraic", "linear"])
@given(error=errors, alpha=alphas)
def test_the_two_sides_differ_by_the_error(name, error, alpha):
    above, below = (KERNELS[name].value(x, alpha) for x in (error, -error))
    assert abs((above - below) - error) <= 5 * EPS * max(above, below)  # each is right to 4 ulp or better


@smooth_kernels
@given(alpha=alphas)
def test_at_the_target_the_value_is_alpha_and_the_slope_a_half(kernel, alpha):
    value, slope, curvature = kernel.evaluate(0.0, alpha)
    assert value == pytest.approx(alpha, rel=2 * EPS)  # log1p(1)/ln 2 rounds twice
    assert slope == 0.5
    assert curvature == pytest.approx(
        {"softplus": math.log(2) / 4, "algebraic": 1 / 4}[kernel.name] / alpha, rel=4 * EPS
    )
    assert kernel.tilt(0.0, alpha) == 0


@every_kernel
@given(error=errors, alpha=alphas, exponent=st.integers(-20, 20))
def test_units_cancel(kernel, error, alpha, exponent):
    """Scaling by a power of two rounds nothing: the law holds to the last digit, if nothing underflows."""
    assume(error == 0 or abs(error) > 1e-290)
    factor = 2.0**exponent
    power = 2 if kernel is KERNELS["quadratic"] else 1
    value, slope, curvature = kernel.evaluate(error, alpha)
    scaled = kernel.evaluate(factor * error, factor * alpha)
    tiny = 2 * LEAST * max(factor, 1 / factor, 1) * max(1.0, alpha, 1 / alpha)
    assert scaled[0] == pytest.approx(factor**power * value, rel=0, abs=tiny)
    assert scaled[1] == pytest.approx(factor ** (power - 1) * slope, rel=0, abs=tiny)
    assert scaled[2] == pytest.approx(factor ** (power - 2) * curvature, rel=0, abs=tiny)


@every_kernel
@given(error=errors, alpha=alphas, factor=st.floats(1e-3, 1e3))
def test_units_cancel_for_any_factor(kernel, error, alpha, factor):
    power = 2 if kernel is KERNELS["quadratic"] else 1
    expected = factor**power * kernel.value(error, alpha)
    ratio = abs(error) / alpha  # its rounding, in 2^(error/alpha), is what dominates far below the target
    assert kernel.value(factor * error, factor * alpha) == pytest.approx(
        expected, rel=(10 + 3 * min(ratio, 1100.0)) * EPS, abs=1e-300
    )


@pytest.mark.parametrize(
    "kernel", [k for k in KERNELS.values() if k.saturates], ids=lambda kernel: kernel.name
)
@given(error=errors, alpha=alphas)
def test_a_kernel_that_saturates_stays_within_alpha_of_the_positive_part(kernel, error, alpha):
    value, slope, curvature = kernel.evaluate(error, alpha)
    corner = value - max(0.0, error)
    rounding = 4 * EPS * (abs(error) + alpha)
    if kernel is KERNELS["huber"]:
        assert -alpha / 2 - rounding <= corner <= rounding
    elif kernel is KERNELS["linear"]:
        assert corner == 0
    else:
        assert 0 <= corner <= alpha + rounding
        assert value > 0 or error < -1000 * alpha  # softplus underflows there
    assert 0 <= slope <= 1
    assert curvature >= 0


@every_kernel
@given(first=errors, second=errors, alpha=alphas)
def test_value_and_slope_never_fall(kernel, first, second, alpha):
    low, high = sorted([first, second])
    assert kernel.slope(low, alpha) <= kernel.slope(high, alpha) * (1 + 8 * EPS)  # each right to 4 ulp
    assert kernel.value(low, alpha) <= kernel.value(high, alpha) * (1 + 8 * EPS)


@smooth_kernels
@given(steps=st.lists(st.floats(-6, 6), min_size=2, max_size=2, unique=True), alpha=alphas)
def test_the_slope_of_smooth_kernels_rises(kernel, steps, alpha):
    low, high = sorted(steps)
    assume(high - low > 1e-3)  # the slope rises by more than its rounding
    assert kernel.slope(low * alpha, alpha) < kernel.slope(high * alpha, alpha)


@every_kernel
@given(error=errors, alpha=alphas)
def test_evaluate_is_the_three_methods(kernel, error, alpha):
    separate = kernel.value(error, alpha), kernel.slope(error, alpha), kernel.curvature(error, alpha)
    assert kernel.evaluate(error, alpha) == separate


@every_kernel
@given(error=errors, alpha=alphas)
def test_the_tilt_is_the_difference_of_the_slopes(kernel, error, alpha):
    above, below = kernel.slope(error, alpha), kernel.slope(-error, alpha)
    assert kernel.tilt(error, alpha) == pytest.approx(above - below, rel=0, abs=8 * EPS * max(above, below))


@smooth_kernels
@given(ratio=st.floats(1e-300, 1e-9), alpha=alphas)
def test_the_tilt_keeps_its_digits_near_the_target(kernel, ratio, alpha):
    """There it is twice the curvature times the error, while the slopes' difference is all rounding."""
    error = ratio * alpha
    assert kernel.tilt(error, alpha) == pytest.approx(2 * error * kernel.curvature(0.0, alpha), rel=12 * EPS)


@every_kernel
@given(fraction=fractions, alpha=alphas)
def test_the_inverse_slope_is_one(kernel, fraction, alpha):
    error = kernel.inverse_slope(fraction, alpha)
    if kernel is KERNELS["linear"]:
        assert error == 0
        return
    _, slope, curvature = kernel.evaluate(error, alpha)
    # the error is right to a few ulp of itself or of alpha; the curvature turns that into one of the slope
    moved = curvature * (8 * EPS * (abs(error) + alpha) + LEAST)
    assert slope == pytest.approx(fraction, rel=8 * EPS, abs=moved + LEAST)


@every_kernel
@given(fraction=st.floats(0.0, 1.0, exclude_max=True), alpha=alphas)
def test_the_inverse_tilt_is_one(kernel, fraction, alpha):
    error = kernel.inverse_tilt(fraction, alpha)
    assert error >= 0
    if kernel is KERNELS["linear"]:
        assert error == 0
        return
    curvature = kernel.curvature(error, alpha)
    assert kernel.tilt(error, alpha) == pytest.approx(
        fraction, rel=8 * EPS, abs=16 * EPS * curvature * error + 4 * LEAST * (1 + 1 / alpha)
    )


@smooth_kernels
@given(ratio=st.floats(-30, 30), alpha=alphas)
def test_the_inverse_slope_finds_the_error_back(kernel, ratio, alpha):
    error = ratio * alpha
    _, slope, curvature = kernel.evaluate(error, alpha)
    lost = 4 * EPS * slope / curvature  # what the rounding of the slope hides: much, far above the target
    assert kernel.inverse_slope(slope, alpha) == pytest.approx(error, rel=8 * EPS, abs=lost + 8 * EPS * alpha)


@given(error=errors, alpha=alphas)
def test_algebraic_sides_multiply_to_alpha_squared(error, alpha):
    algebraic = KERNELS["algebraic"]
    product = algebraic.value(error, alpha) * algebraic.value(-error, alpha)
    assert product == pytest.approx(alpha**2, rel=10 * EPS)


@given(error=st.floats(-100, 100), alpha=st.floats(0.1, 10))
def test_huber_lies_between_quadratic_and_linear(error, alpha):
    value, slope, _ = KERNELS["huber"].evaluate(error, alpha)
    quadratic = KERNELS["quadratic"].value(error, 1.0) / (2 * alpha)
    linear = KERNELS["linear"].value(error, 1.0)
    assert value <= min(quadratic, linear) * (1 + 4 * EPS)
    if error <= alpha:
        assert value == pytest.approx(quadratic, rel=4 * EPS)
    else:
        assert value == pytest.approx(linear - alpha / 2, rel=8 * EPS)
        assert slope == 1


# --- derivatives by differences -------------------------------------------------------------------------


@every_kernel
@given(ratio=st.floats(-8, 8), alpha=alphas)
def test_slope_and_curvature_are_derivatives(kernel, ratio, alpha):
    step = 1e-5
    if kernel not in SMOOTH:
        assume(abs(ratio) > 2 * step)  # kinks of the value or the slope
        assume(abs(ratio - 1) > 2 * step)
    if not kernel.has_width:
        alpha = 1.0
    error, step = ratio * alpha, step * alpha
    _, slope, curvature = kernel.evaluate(error, alpha)
    width = (error + step) - (error - step)
    values = kernel.value(error + step, alpha) - kernel.value(error - step, alpha)
    slopes = kernel.slope(error + step, alpha) - kernel.slope(error - step, alpha)
    # truncation step²/6 = 2e-11; rounding 4·eps·(value ≤ 64)/step = 6e-9, 4·eps·(slope ≤ 16)/step = 1e-9
    assert values / width == pytest.approx(slope, rel=0, abs=1e-8)
    assert slopes / width * alpha == pytest.approx(curvature * alpha, rel=0, abs=2e-9)


# --- special values -------------------------------------------------------------------------------------

FAR = {  # (value, slope, curvature) at -inf and +inf
    "softplus": [(0, 0, 0), (math.inf, 1, 0)],
    "algebraic": [(0, 0, 0), (math.inf, 1, 0)],
    "quadratic": [(0, 0, 0), (math.inf, math.inf, 2)],
    "linear": [(0, 0, 0), (math.inf, 1, 0)],
    "huber": [(0, 0, 0), (math.inf, 1, 0)],
}


@every_kernel
@float_types
@pytest.mark.parametrize("alpha", [2.0**-30, 0.1, 1.0, 1e10])
def test_infinite_errors(kernel, dtype, alpha):
    error = np.array([-math.inf, math.inf], dtype=dtype)
    np.testing.assert_array_equal(np.transpose(kernel.evaluate(error, alpha)), FAR[kernel.name])
    for row, method in enumerate((kernel.value, kernel.slope, kernel.curvature)):
        np.testing.assert_array_equal(method(error, alpha), [far[row] for far in FAR[kernel.name]])
    limit = math.inf if kernel is KERNELS["quadratic"] else 1
    np.testing.assert_array_equal(kernel.tilt(error, alpha), [-limit, limit])


@every_kernel
@float_types
def test_nan_stays_nan(kernel, dtype):
    error = np.array([math.nan, 1.0], dtype=dtype)
    for result in (*kernel.evaluate(error, 0.5), kernel.tilt(error, 0.5), kernel.inverse_slope(error, 0.5)):
        assert result.dtype == dtype
        assert np.isnan(result[0])
    assert all(map(math.isnan, kernel.evaluate(math.nan, 0.5)))


@every_kernel
@float_types
@pytest.mark.parametrize("alpha", [2.0**-30, 0.1, 1.0, 1e10])
def test_the_largest_and_least_numbers(kernel, dtype, alpha):
    info = np.finfo(dtype)
    value, slope, _ = kernel.evaluate(np.array([-info.max, info.max]), alpha)
    if kernel.saturates:
        np.testing.assert_allclose(value[1], info.max, rtol=2 * info.eps)  # alpha is lost in it
        assert value[0] <= dtype(alpha) ** 2 / info.max * (1 + 4 * info.eps) + info.smallest_subnormal
        np.testing.assert_array_equal(slope, [0, 1])
    else:
        np.testing.assert_array_equal(value, [0, math.inf])
    least = np.array([-info.smallest_subnormal, info.smallest_subnormal])
    at_target = [np.asarray(part, dtype=dtype) for part in kernel.evaluate(0.0, alpha)]
    for part, expected in zip(kernel.evaluate(least, alpha)[:2], at_target, strict=False):
        if kernel is KERNELS["linear"] and expected == 0.5:
            expected = np.array([0, 1], dtype=dtype)  # its slope jumps
        np.testing.assert_allclose(
            part, np.broadcast_to(expected, 2), rtol=2 * info.eps, atol=1e10 * info.smallest_subnormal
        )


@every_kernel
def test_the_ends_of_the_inverse_slope(kernel):
    inverse = {
        "softplus": [math.nan, -math.inf, 0.0, math.inf, math.nan],
        "algebraic": [math.nan, -math.inf, 0.0, math.inf, math.nan],
        "quadratic": [math.nan, 0.0, 0.25, 0.5, 1.0],
        "linear": [math.nan, 0.0, 0.0, 0.0, math.nan],
        "huber": [math.nan, 0.0, 0.15, 0.3, math.nan],
    }[kernel.name]
    fractions = [-0.5, 0.0, 0.5, 1.0, 2.0]
    np.testing.assert_array_equal(kernel.inverse_slope(np.array(fractions), 0.3), inverse)
    np.testing.assert_array_equal([kernel.inverse_slope(fraction, 0.3) for fraction in fractions], inverse)


def test_the_traps_of_the_literal_formulas():
    """Where literal formulas cancel, overflow, or fall back to max(0, x); exact values by hand."""
    softplus, algebraic = KERNELS["softplus"], KERNELS["algebraic"]
    assert algebraic.value(-250.0, 1e-7) == pytest.approx(1e-14 / 250, rel=4 * EPS)
    assert algebraic.value(-1e200, 1.0) == pytest.approx(1e-200, rel=4 * EPS)
    assert softplus.value(-1000.0, 1.0) == pytest.approx(2.0**-1000 / math.log(2), rel=4 * EPS)
    assert softplus.value(25.0, 1.0) - 25.0 == pytest.approx(
        2.0**-25 / math.log(2), rel=0, abs=np.spacing(25.0)
    )
    assert softplus.value(1e300, 1e-300) == 1e300


# --- arrays ---------------------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("error", [0.7, -2, 0, np.float64(0.7)])
def test_a_float_in_gives_a_float_out(kernel, error):
    for alpha in (1, 0.5):
        results = [*kernel.evaluate(error, alpha), kernel.value(error, alpha), kernel.slope(error, alpha)]
        results += [
            kernel.curvature(error, alpha),
            kernel.tilt(error, alpha),
            kernel.inverse_slope(0.3, alpha),
        ]
        assert {type(result) for result in results} == {float}


@every_kernel
@float_types
def test_float_types_are_kept(kernel, dtype):
    errors = np.linspace(-2, 2, 5).astype(dtype)
    for alpha in (0.5, 1, np.float64(0.5), np.full(5, 0.5), np.full(5, 0.5, dtype=np.float32)):
        results = [*kernel.evaluate(errors, alpha), kernel.value(errors, alpha), kernel.slope(errors, alpha)]
        results += [
            kernel.curvature(errors, alpha),
            kernel.tilt(errors, alpha),
            kernel.inverse_slope(errors, alpha),
        ]
        assert {(result.dtype, result.shape) for result in results} == {(np.dtype(dtype), (5,))}
    assert np.asarray(kernel.value(errors[0], 0.5)).dtype == dtype  # a scalar of that type


@every_kernel
def test_half_precision_is_right_at_every_number(kernel):
    """Exact up to the last rounding, which is that from float32 to float16."""
    errors = np.arange(2**16, dtype=np.uint16).view(np.float16)
    errors = errors[np.isfinite(errors)]
    widths = np.full(errors.shape, 0.1)
    for alpha in (0.1, np.float32(2.0**-20), widths, 300.0):
        exact = errors.astype(np.float64)
        with np.errstate(over="ignore"):
            for method in ("evaluate", "value", "slope", "curvature", "tilt"):
                found, right = (getattr(kernel, method)(e, alpha) for e in (errors, exact))
                assert np.asarray(found).dtype == np.float16
                right = np.asarray(right).astype(np.float16)
                # one ulp where the rounding to float32 moved a number across a tie
                np.testing.assert_allclose(found, right, rtol=2.0**-10, atol=2.0**-24)
    assert kernel.value(np.float16(0.5), 0.1).dtype == np.float16


@every_kernel
def test_integers_and_lists_become_floats(kernel):
    np.testing.assert_array_equal(
        kernel.value([-1, 0, 2], 0.5), kernel.value(np.array([-1.0, 0.0, 2.0]), 0.5)
    )
    assert kernel.value(np.arange(3), 0.5).dtype == np.float64


@every_kernel
def test_alpha_broadcasts(kernel):
    errors = np.linspace(-3, 3, 4)
    alpha = np.array([[0.1], [1.0], [10.0]])
    for method in (kernel.value, kernel.slope, kernel.curvature, kernel.tilt):
        result = method(errors, alpha)
        one_by_one = [[method(error, width) for error in errors.tolist()] for width in alpha[:, 0].tolist()]
        if kernel.has_width:
            np.testing.assert_allclose(result, one_by_one, rtol=4 * EPS)  # shorter loops may round otherwise
        else:
            np.testing.assert_array_equal(np.broadcast_to(result, (3, 4)), one_by_one)
    if kernel.has_width:
        assert kernel.value(0.5, np.array([0.1, 1.0])).shape == (2,)
        assert kernel.value(0.5, [0.1, 1.0]).shape == (2,)


@every_kernel
@float_types
def test_large_arrays_are_evaluated_like_small_ones(kernel, dtype):
    """Larger than a block, of any layout: equal to evaluation in small pieces, up to the loops' rounding."""
    random = np.random.default_rng(3)
    flat = (random.normal(size=2 * BLOCK + 37) * 3).astype(dtype)
    pieces = [kernel.evaluate(piece, 0.25) for piece in np.array_split(flat, 50)]
    expected = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    info = np.finfo(dtype)

    def check(error, arrange):
        results = kernel.evaluate(error, 0.25)
        separate = kernel.value(error, 0.25), kernel.slope(error, 0.25), kernel.curvature(error, 0.25)
        for result, alone, part in zip(results, separate, expected, strict=True):
            assert result.shape == error.shape
            assert result.dtype == dtype
            np.testing.assert_allclose(result, arrange(part), rtol=4 * info.eps, atol=info.tiny)
            np.testing.assert_array_equal(alone, result)

    check(flat, lambda part: part)
    check(flat[::-1], lambda part: part[::-1])
    check(flat[::2], lambda part: part[::2])
    check(flat[:-1].reshape(4, -1), lambda part: part[:-1].reshape(4, -1))
    check(np.asfortranarray(flat[:-1].reshape(4, -1)), lambda part: part[:-1].reshape(4, -1))
    widths = np.full(flat.shape, 0.25)
    np.testing.assert_allclose(kernel.value(flat, widths), expected[0], rtol=4 * info.eps, atol=info.tiny)
    assert kernel.value(np.empty(0, dtype=dtype), 0.25).shape == (0,)
    assert flat.flags.writeable
    before = flat.copy()
    kernel.evaluate(flat, 0.25)
    np.testing.assert_array_equal(flat, before)


# --- errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [k for k in KERNELS.values() if k.has_width], ids=lambda kernel: kernel.name
)
@pytest.mark.parametrize(
    "alpha", [0.0, -1.0, 0, math.nan, math.inf, np.float32(-1), np.array([1.0, 0.0]), [1.0, math.nan]]
)
def test_alpha_must_be_positive_and_finite(kernel, alpha):
    for call in ("value", "slope", "curvature", "evaluate", "tilt", "inverse_slope", "inverse_tilt"):
        with pytest.raises(ValueError, match=rf"`{call}\(alpha=\.\.\.\)` must be positive and finite; got "):
            getattr(kernel, call)(0.5, alpha)


def test_kernels_know_their_names():
    for name, kernel in KERNELS.items():
        assert kernel.name == name
        assert repr(kernel) == f"KERNELS[{name!r}]"
