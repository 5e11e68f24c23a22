"""One function from errors to penalty and multipliers: against its parts, differences and the libraries."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import COMBINATIONS, KERNELS, penalty_function, penalty_slope
from softpenalty.formulas.penalty import penalty_and_multipliers

M, S = 6, 4
OPERATORS = ["<", "<", ">", ">", "=", "="]
SIGN = np.array([1.0, 1.0, -1.0, -1.0, 1.0, 1.0])
EQUALITY = np.array([False, False, False, False, True, True])
SIGMA = np.array([0.5, 2.0, 1.0, 3.0, 1.5, 0.7])
ALPHA = np.array([0.1, 0.3, 0.2, 1.0, 0.1, 0.4])
SHIFT = np.array([0.0, 0.0, 0.0, 0.0, 0.6, -0.3])
ERRORS = np.random.default_rng(5).normal(size=(M, S))

every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_combination = pytest.mark.parametrize("combination", COMBINATIONS)
float_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@every_kernel
@every_combination
def test_it_is_the_operators_combined(kernel, combination):
    for errors in (ERRORS[:, 0], ERRORS):
        penalty, multipliers = penalty_and_multipliers(
            errors, SIGN, EQUALITY, SIGMA, ALPHA, SHIFT, kernel, combination
        )
        terms, slopes = (
            np.array(
                [s * f(e, a, o, kernel) for s, e, a, o in zip(SIGMA, errors, ALPHA, OPERATORS, strict=True)]
            )
            for f in (penalty_function, penalty_slope)
        )
        rule = COMBINATIONS[combination]
        shifts = (SHIFT * errors.T).T
        np.testing.assert_allclose(penalty, rule.value(terms) + shifts.sum(axis=0), rtol=1e-13)
        expected = (rule.multipliers(terms, slopes).T + SHIFT).T
        np.testing.assert_allclose(multipliers, expected, rtol=1e-12, atol=1e-14)  # `=` cancels near 0


@every_kernel
@every_combination
def test_multipliers_are_the_derivative(kernel, combination):
    step = 1e-6
    arguments = (SIGN, EQUALITY, SIGMA, ALPHA, SHIFT, kernel, combination)
    multipliers = penalty_and_multipliers(ERRORS[:, 0], *arguments)[1]
    around = ERRORS[:, :1] + step * np.hstack([np.eye(M), -np.eye(M)])
    penalties = penalty_and_multipliers(around, *arguments)[0]
    differences = (penalties[:M] - penalties[M:]) / (2.0 * step)
    np.testing.assert_allclose(multipliers, differences, rtol=1e-7, atol=1e-8)  # rounding/step = 1e-10


@pytest.mark.parametrize("equality", [False, True])
def test_one_number_may_stand_for_all_rows(equality):
    found = penalty_and_multipliers(ERRORS, -1.0, equality, 2.0, 0.3)
    full = [np.full(M, number) for number in (-1.0, equality, 2.0, 0.3)]
    for one, many in zip(found, penalty_and_multipliers(ERRORS, *full), strict=True):
        np.testing.assert_array_equal(one, many)


def test_no_rows():
    penalty, multipliers = penalty_and_multipliers(np.zeros(0), np.zeros(0), np.zeros(0, bool))
    assert penalty == 0.0
    assert multipliers.shape == (0,)


def test_large_arrays_are_worked_through_in_blocks_with_their_equalities():
    errors = np.random.default_rng(1).normal(size=(2, 10_000))
    whole = penalty_and_multipliers(errors, equality=np.array([True, False]), alpha=0.5)
    parts = [penalty_and_multipliers(e, equality=np.array([True, False]), alpha=0.5) for e in errors.T[:50]]
    np.testing.assert_allclose(whole[0][:50], [p for p, _ in parts], rtol=1e-14)
    np.testing.assert_allclose(whole[1][:, :50].T, [m for _, m in parts], rtol=1e-14)


def test_nothing_is_written_in_place():
    arrays = [a.copy() for a in (ERRORS, SIGN, EQUALITY, SIGMA, ALPHA, SHIFT)]
    for array in arrays:
        array.flags.writeable = False
    penalty_and_multipliers(*arrays)


@every_kernel
@every_combination
@float_types
def test_libraries_agree(backend, kernel, combination, dtype):
    errors, *parameters = (a.astype(dtype) for a in (ERRORS, SIGN, SIGMA, ALPHA, SHIFT))
    sign, sigma, alpha, shift = parameters
    expected = penalty_and_multipliers(errors, sign, EQUALITY, sigma, alpha, shift, kernel, combination)
    tolerance = 100 * np.finfo(dtype).eps  # JAX has no exp2 of its own: up to |error/alpha| ≤ 30 ulp
    for convert in (backend.array, lambda a: a):  # parameters may stay NumPy arrays
        there = [convert(a) for a in (sign, sigma, alpha, shift)]
        found = penalty_and_multipliers(
            backend.array(errors), there[0], EQUALITY, *there[1:], kernel, combination
        )
        for part, same in zip(found, expected, strict=True):
            assert backend.to_numpy(part).dtype == dtype
            np.testing.assert_allclose(backend.to_numpy(part), same, rtol=tolerance, atol=tolerance)


@every_kernel
@every_combination
def test_automatic_differentiation_finds_the_multipliers(kernel, combination):
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    arguments = (SIGN, EQUALITY, SIGMA, ALPHA, SHIFT, kernel, combination)
    far = 1e4 * ALPHA * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    points = [ERRORS[:, 0], far, -far]
    if kernel != "linear":  # it has no derivative at 0
        points.append(np.zeros(M))
    for errors in points:
        expected = penalty_and_multipliers(errors, *arguments)[1]
        variable = torch.tensor(errors, requires_grad=True)
        penalty, multipliers = penalty_and_multipliers(variable, *arguments)
        penalty.backward()
        gradient = jax.grad(lambda e: penalty_and_multipliers(e, *arguments)[0])(jax.numpy.asarray(errors))
        for found in (multipliers.detach().numpy(), variable.grad.numpy(), gradient):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_jax_compiles_and_maps_it():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    expected = penalty_and_multipliers(ERRORS, SIGN, EQUALITY, SIGMA, ALPHA)
    one = jax.jit(lambda errors: penalty_and_multipliers(errors, SIGN, EQUALITY, SIGMA, ALPHA))
    mapped = jax.vmap(one, in_axes=1, out_axes=(0, 1))(ERRORS)
    for found, same in zip(mapped, expected, strict=True):
        np.testing.assert_allclose(found, same, rtol=1e-13, atol=1e-14)


def test_parameters_follow_the_errors_to_their_device():
    torch = pytest.importorskip("torch")
    penalty, multipliers = penalty_and_multipliers(
        torch.zeros(M, device="meta"), SIGN, EQUALITY, SIGMA, ALPHA, SHIFT
    )
    assert penalty.device.type == multipliers.device.type == "meta"
