"""PyTorch and JAX give what NumPy gives, and differentiate to the slope, also at error 0."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import (
    COMBINATIONS,
    KERNELS,
    OPERATORS,
    penalty_function,
    penalty_slope,
    predicted_error,
    recommend,
)

ERRORS = np.concatenate([-np.geomspace(1e-3, 40, 25)[::-1], [0.0], np.geomspace(1e-3, 40, 25)])
FAR = np.array([-1e30, -1e10, -300.0, 300.0, 1e10, 1e30])
METHODS = ("value", "slope", "curvature", "tilt")

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
every_combination = pytest.mark.parametrize("combination", COMBINATIONS.values(), ids=COMBINATIONS.keys())
float_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def assert_same(backend, found, expected, dtype, atol=0.0):
    """Compare with NumPy. The libraries' functions are right to a few ulp, and they flush denormal numbers.

    JAX has no exp2 of its own but exp(x·ln 2), which loses up to |error/alpha| ≤ 400 ulp.
    """
    info = np.finfo(dtype)
    assert type(found) is type(backend.array(np.zeros(1, dtype=dtype)))
    found = backend.to_numpy(found)
    assert found.dtype == dtype
    ulps = 400 if backend.name == "jax" else 20
    np.testing.assert_allclose(found, expected, rtol=ulps * info.eps, atol=max(atol, info.tiny))


@every_kernel
@float_types
def test_kernels(backend, kernel, dtype):
    errors = np.concatenate([ERRORS, FAR]).astype(dtype)
    widths = np.resize([0.1, 0.5, 2.0], errors.shape).astype(dtype)
    there = backend.array(errors)
    for alpha, alpha_there in [(0.25, 0.25), (widths, backend.array(widths)), (widths, widths)]:
        expected = kernel.evaluate(errors, alpha)
        for part, same in zip(kernel.evaluate(there, alpha_there), expected, strict=True):
            assert_same(backend, part, same, dtype)
        for method in METHODS:
            found, same = (getattr(kernel, method)(*pair) for pair in [(there, alpha_there), (errors, alpha)])
            assert_same(backend, found, same, dtype)


@every_kernel
def test_half_precision(backend, kernel):
    errors = ERRORS.astype(np.float16)
    there = backend.array(errors)
    for alpha in (0.25, backend.array(np.full(errors.shape, 0.25, dtype=np.float16))):
        for found, expected in zip(kernel.evaluate(there, alpha), kernel.evaluate(errors, 0.25), strict=True):
            found = backend.to_numpy(found)
            assert found.dtype == np.float16
            np.testing.assert_allclose(found, expected, rtol=2.0**-10, atol=2.0**-24)  # one ulp


@every_kernel
@float_types
def test_inverses(backend, kernel, dtype):
    fractions = np.array([0.0, 1e-6, 0.25, 0.5, 0.75, 0.999], dtype=dtype)
    there = backend.array(fractions)
    for method in ("inverse_slope", "inverse_tilt"):
        found, expected = (getattr(kernel, method)(array, 0.25) for array in (there, fractions))
        # near 0.5 the inverse slope crosses 0, where only digits relative to alpha count
        assert_same(backend, found, expected, dtype, atol=4 * np.finfo(dtype).eps)


@every_kernel
@pytest.mark.parametrize("operator", OPERATORS)
@float_types
def test_operators(backend, kernel, operator, dtype):
    errors = ERRORS.astype(dtype)
    there = backend.array(errors)
    for function in (penalty_function, penalty_slope):
        for betas in ((), (-0.5, 2.0)):
            found, expected = (function(array, 0.25, operator, kernel, *betas) for array in (there, errors))
            # saturations of different sign cancel somewhere
            assert_same(backend, found, expected, dtype, atol=8 * np.finfo(dtype).eps)


@every_combination
@float_types
def test_combinations(backend, combination, dtype):
    random = np.random.default_rng(1)
    terms, slopes = random.random((2, 4, 3)).astype(dtype)
    terms[:, 1] = 0
    alpha = np.array([[0.1], [0.2], [0.3], [0.4]], dtype=dtype)
    there = backend.array(terms), backend.array(slopes)
    assert_same(backend, combination.multipliers(*there), combination.multipliers(terms, slopes), dtype)
    found = combination.balance(there[1], backend.array(alpha))
    assert_same(backend, found, combination.balance(slopes, alpha), dtype)
    for method in ("value", "strength"):
        found = getattr(combination, method)(there[0])
        np.testing.assert_allclose(
            backend.to_numpy(found), getattr(combination, method)(terms), rtol=4 * np.finfo(dtype).eps
        )
        assert backend.to_numpy(found).dtype == dtype


@every_kernel
@pytest.mark.parametrize("operator", OPERATORS)
@float_types
def test_prediction(backend, kernel, operator, dtype):
    gradients = np.array([0.0, 0.01, 0.3, 0.5, 0.9, 1.0, 3.0], dtype=dtype)
    found, expected = (
        predicted_error(array, 1.0, 0.1, operator, kernel) for array in (backend.array(gradients), gradients)
    )
    assert_same(backend, found, expected, dtype, atol=4 * np.finfo(dtype).eps)
    positive = gradients[1:]
    choice, expected = (
        recommend(array, 1e-2, operator, kernel) for array in (backend.array(positive), positive)
    )
    for part, there in zip(choice, expected, strict=True):
        if not isinstance(part, float):
            # sigma is 1.44 times the strongest gradient: 1 − 1/1.44 magnifies the rounding threefold
            np.testing.assert_allclose(backend.to_numpy(part), there, rtol=60 * np.finfo(dtype).eps)


@every_kernel
def test_other_errors_with_an_array_of_widths(backend, kernel):
    widths = np.array([0.1, 0.5])
    if kernel.has_width:
        for error in (0.3, np.array([0.3, -0.2])):
            found = kernel.value(error, backend.array(widths))
            assert_same(backend, found, kernel.value(error, widths), np.float64)


@every_kernel
def test_integers_become_floats(backend, kernel):
    found = backend.to_numpy(kernel.value(backend.array(np.arange(-3, 4)), 0.25))
    expected = kernel.value(np.arange(-3, 4), 0.25).astype(found.dtype)  # PyTorch's default is float32
    np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(found.dtype).eps)


# --- automatic differentiation --------------------------------------------------------------------------


def by_torch(function, x):
    """Return the gradient of a scalar `function` of PyTorch arrays at a NumPy array `x`."""
    torch = pytest.importorskip("torch")
    variable = torch.from_numpy(x.copy()).requires_grad_()
    function(variable).backward()
    return variable.grad.numpy()


def by_jax(function, x):
    """Return the gradient of a scalar `function` of JAX arrays at a NumPy array `x`."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return np.asarray(jax.grad(function)(jax.numpy.asarray(x)))


differentiate = pytest.mark.parametrize("gradient", [by_torch, by_jax])


@every_kernel
@float_types
@differentiate
def test_autodiff_finds_the_slope(gradient, kernel, dtype):
    info = np.finfo(dtype)
    ends = [-info.max, info.max] if kernel.name in ("softplus", "algebraic") else [-1.0, 1.0]
    errors = np.concatenate([ERRORS, FAR, ends]).astype(dtype)
    found = gradient(lambda error: kernel.value(error, 0.25).sum(), errors)
    # JAX: see above; else a product of as many factors as the formula has steps
    ulps = 400 if gradient is by_jax else 40
    np.testing.assert_allclose(found, kernel.slope(errors, 0.25), rtol=ulps * info.eps, atol=info.tiny)


@every_kernel
@float_types
@differentiate
def test_autodiff_finds_the_slope_at_the_target(gradient, kernel, dtype):
    zeros = np.zeros(ERRORS.size + FAR.size + 2, dtype=dtype)  # the size above, for which JAX has compiled
    for alpha in (1e-6, 0.25, 30.0):
        found = gradient(lambda error, alpha=alpha: kernel.value(error, alpha).sum(), zeros)
        np.testing.assert_array_equal(found, kernel.slope(zeros, alpha))


@every_kernel
@differentiate
@pytest.mark.parametrize("operator", OPERATORS)
def test_autodiff_of_the_operators(gradient, kernel, operator):
    found = gradient(lambda error: penalty_function(error, 0.25, operator, kernel).sum(), ERRORS)
    expected = penalty_slope(ERRORS, 0.25, operator, kernel)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)  # the sides of an equality cancel


@every_combination
@differentiate
@pytest.mark.parametrize("kernel", ["softplus", "algebraic", "quadratic"])
def test_autodiff_finds_the_multipliers(gradient, combination, kernel):
    sigma, errors = 3.0, np.array([-0.5, -0.1, 0.0, 0.2, 0.2, 1.0])
    value, slope, _ = KERNELS[kernel].evaluate(errors, 0.25)
    found = gradient(lambda error: combination.value(sigma * KERNELS[kernel].value(error, 0.25)), errors)
    np.testing.assert_allclose(
        found, combination.multipliers(sigma * value, sigma * slope), rtol=1e-13, atol=1e-15
    )


@every_combination
@every_kernel
@differentiate
def test_autodiff_is_finite_where_all_terms_vanish(gradient, combination, kernel):
    found = gradient(lambda error: combination.value(kernel.value(error, 0.1)), np.full(3, -1e6))
    value, slope, _ = kernel.evaluate(np.full(3, -1e6), 0.1)
    np.testing.assert_allclose(found, combination.multipliers(value, slope), rtol=1e-13)
    assert np.isfinite(gradient(combination.value, np.zeros(3))).all()


@differentiate
def test_autodiff_with_respect_to_alpha(gradient):
    """By the units law, value = error·slope + alpha·∂value/∂alpha."""
    errors, alpha = np.linspace(-1, 1, 9), 0.3
    for name in ("softplus", "algebraic"):
        kernel = KERNELS[name]
        for error in errors.tolist():
            found = gradient(lambda a, e=error, k=kernel: k.value(e, a).sum(), np.array([alpha]))
            value, slope, _ = kernel.evaluate(error, alpha)
            np.testing.assert_allclose(found, (value - error * slope) / alpha, rtol=1e-13, atol=1e-14)


# --- compilation ----------------------------------------------------------------------------------------


@every_kernel
@float_types
def test_jit(kernel, dtype):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    errors = jax.numpy.asarray(ERRORS.astype(dtype))
    info = np.finfo(dtype)
    for alpha in (0.25, jax.numpy.asarray(0.25, dtype=dtype)):  # the second is traced, its value unknown
        compiled = jax.jit(kernel.evaluate)(errors, alpha)
        for found, expected in zip(compiled, kernel.evaluate(ERRORS.astype(dtype), 0.25), strict=True):
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=400 * info.eps, atol=info.tiny)  # as above


@every_combination
def test_jit_of_a_whole_penalty(combination):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)

    def penalty(error):
        return combination.value(2.0 * penalty_function(error, 0.25, "=", "algebraic"))

    value, gradient = jax.jit(jax.value_and_grad(penalty))(jax.numpy.asarray(ERRORS))
    terms = 2.0 * penalty_function(ERRORS, 0.25, "=", "algebraic")
    slopes = 2.0 * penalty_slope(ERRORS, 0.25, "=", "algebraic")
    np.testing.assert_allclose(value, combination.value(terms), rtol=1e-14)
    np.testing.assert_allclose(gradient, combination.multipliers(terms, slopes), rtol=1e-12, atol=1e-15)
