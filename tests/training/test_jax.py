"""The pure functions in JAX, and that they are PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import COMBINATIONS, KERNELS, OPERATORS
from softpenalty.formulas.penalty import penalty_and_multipliers

jax = pytest.importorskip("jax")

from softpenalty.training import jax as sp  # noqa: E402

jnp = jax.numpy
ERRORS = (np.random.default_rng(3).normal(size=(60, 3)) * 0.1 + [0.05, 0.0, -0.05]).astype(np.float32)


@pytest.fixture(autouse=True)
def single_precision():
    """JAX's default, which other tests change."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", before)


def run(state, errors, masks=None):
    """Observe and ascend over errors (steps, n) within one compiled scan; return weights too."""

    def step(state, batch):
        state = sp.observe(state, *batch)
        return sp.ascend(state), sp.weight(state)

    masks = np.ones(errors.shape, bool) if masks is None else masks
    return jax.jit(lambda state: jax.lax.scan(step, state, (jnp.asarray(errors), jnp.asarray(masks))))(state)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("rule", ["bounded", "log"])
@pytest.mark.parametrize("alpha", [0.1, "auto"])
def test_it_is_what_pytorch_does(operator, rule, alpha):
    """To 1e-6, with float32 in both, masks and a constraint that comes late."""
    torch = pytest.importorskip("torch")
    from softpenalty.training.torch import AdaptivePenalty

    settings = {"operator": operator, "rule": rule, "alpha": alpha, "eta": 0.1, "tolerance": 0.01}
    masks = np.random.default_rng(4).random(ERRORS.shape) < 0.8
    masks[:5, 2] = False
    state, weights = run(sp.init(3, **settings), ERRORS, masks)
    con = AdaptivePenalty(3, **settings)
    expected = []
    for errors, mask in zip(torch.from_numpy(ERRORS), torch.from_numpy(masks), strict=True):
        variable = errors.clone().requires_grad_()
        con(variable, mask=mask).backward()
        expected.append(variable.grad.numpy())
        con.update()
    # the weight of an absent constraint enters nowhere in PyTorch
    np.testing.assert_allclose(np.where(masks, weights, 0.0), expected, rtol=1e-6, atol=1e-6)
    for name, value in con.state_dict().items():
        np.testing.assert_allclose(getattr(state.memory, name), value, rtol=1e-6, atol=1e-6, err_msg=name)
    for name in ("sigma", "violation", "bias"):
        np.testing.assert_allclose(
            getattr(sp, name)(state), getattr(con, name), rtol=1e-6, atol=1e-6, err_msg=name
        )


def test_compiled_step_by_step_and_scanned_are_the_same():
    state = sp.init(3, eta=0.1)
    observe, ascend = jax.jit(sp.observe), jax.jit(sp.ascend)
    for errors in ERRORS:
        state = ascend(observe(state, errors))
    scanned, _ = run(sp.init(3, eta=0.1), ERRORS)
    for one, other in zip(state.memory, scanned.memory, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_absent_constraints_keep_everything_bit_for_bit():
    state, _ = run(sp.init(3, eta=0.1), ERRORS)
    weights = sp.weight(state)
    errors = jnp.array([0.3, jnp.nan, 0.5])
    later = sp.observe(state, errors, jnp.array([True, False, False]))
    np.testing.assert_array_equal(sp.weight(later)[1:], weights[1:])
    for before, after in zip(state.memory, sp.ascend(later).memory, strict=True):
        np.testing.assert_array_equal(before[1:], after[1:])
    assert sp.ascend(later).memory.mean[0] != state.memory.mean[0]


def test_to_ascend_without_having_observed_changes_nothing():
    state, _ = run(sp.init(3, eta=0.1), ERRORS)
    for before, after in zip(state.memory, sp.ascend(state).memory, strict=True):
        np.testing.assert_array_equal(before, after)


def test_mapped_over_seeds():
    many = jnp.stack([jnp.asarray(ERRORS), jnp.asarray(2.0 * ERRORS)])
    states = jax.vmap(lambda errors: run(sp.init(3, eta=0.1), errors)[0])(many)
    single, _ = run(sp.init(3, eta=0.1), 2.0 * ERRORS)
    np.testing.assert_allclose(sp.sigma(single), jax.vmap(sp.sigma)(states)[1], rtol=1e-5)


def test_no_derivative_goes_through_the_state():
    def penalized(x):
        state = sp.observe(sp.init(1, sigma=2.0, alpha=0.1), x)
        return jax.lax.stop_gradient(sp.weight(state)) @ x

    x = jnp.array([0.1])
    assert jax.grad(penalized)(x)[0] == pytest.approx(2.0 / (1.0 + 0.5), rel=1e-6)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("kernel", ["softplus", "algebraic", "quadratic"])
def test_stateless_penalty(kernel, combination, operator):
    errors = np.array([-0.3, -0.05, 0.02, 0.4])
    arguments = (2.0, 0.1, operator, kernel, combination)
    sign = -1.0 if operator == ">" else 1.0
    expected = penalty_and_multipliers(errors, sign, operator == "=", 2.0, 0.1, None, kernel, combination)
    value, gradient = jax.value_and_grad(lambda e: sp.penalty(e, *arguments))(jnp.asarray(errors))
    found = value, gradient
    for part, same in zip(found, expected, strict=True):
        np.testing.assert_allclose(part, same, rtol=1e-5, atol=1e-6)  # float32
    np.testing.assert_allclose(
        sp.multiplier(jnp.asarray(errors), *arguments), expected[1], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_stay_finite(kernel):
    for combination in COMBINATIONS:
        slope = jax.jit(jax.grad(lambda e, c=combination: sp.penalty(e, 1.0, 0.1, "<", kernel, c)))
        for ratio in (-1e4, 0.0, 1e4):
            assert jnp.isfinite(slope(jnp.full(3, 0.1 * ratio, dtype=jnp.float32))).all()


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match=r"`init\(decay=...\)`"):
        sp.init(1, decay=1.0)
    with pytest.raises(ValueError, match=r"`penalty\(operator=...\)`"):
        sp.penalty(jnp.zeros(1), operator="!")
    with pytest.raises(ValueError, match=r"`observe\(errors\)` must have shape \(2,\); got \(3,\)"):
        sp.observe(sp.init(2), jnp.zeros(3))


def test_one_error_may_be_a_scalar():
    assert sp.penalty(jnp.float32(0.3)).shape == sp.multiplier(jnp.float32(0.3)).shape == ()
    assert sp.weight(sp.observe(sp.init(1), jnp.float32(0.3))).shape == (1,)
