"""Penalties for JAX: stateless ones, and a state of weights that find themselves while training.

    state = init(1, alpha=0.02)
    state = observe(state, errors)
    loss = objective + jax.lax.stop_gradient(weight(state)) @ errors
    state = ascend(state)

All functions are pure; they may be compiled, scanned and mapped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..extras import install_hint
from ..formulas.combinations import Combination
from ..formulas.kernels import Kernel
from .rule import Memory, Rule, evaluate, make_rule

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError(f"`softpenalty.training.jax` needs JAX: {install_hint('jax')}.") from error

__all__ = [
    "State", "ascend", "bias", "init", "multiplier", "observe", "penalty", "sigma", "violation", "weight"
]  # fmt: skip

Array = Any  # a JAX array, traced or not

jax.tree_util.register_pytree_node(Rule, lambda rule: ((), rule), lambda rule, _: rule)  # no leaves


class State(NamedTuple):
    """n adaptive constraints. The settings are part of the tree's structure, everything else are leaves.

    Examples
    --------
    >>> import jax
    >>> state = init(2, alpha=0.1)
    >>> state.errors.shape, len(jax.tree.leaves(state))
    ((2,), 8)
    """

    rule: Rule
    alpha: Array  #: () or (n,)
    memory: Memory  #: arrays (n,), as the last `ascend` left them
    errors: Array  #: (n,) of the last `observe`; NaN where a constraint was absent
    mean: Array  #: (n,) moving average with those errors in it


def penalty(
    error: Array,
    sigma: Any = 1.0,
    alpha: Any = 0.1,
    operator: str = "<",
    kernel: str | Kernel = "softplus",
    combination: str | Combination = "sum",
) -> Array:
    """Return the penalty of errors (m,), a scalar; differentiable. See `softpenalty.training.torch`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> round(float(penalty(jnp.zeros(2), sigma=3.0, alpha=0.1)), 6)
    0.6
    >>> jax.grad(penalty)(jnp.zeros(2), sigma=3.0, alpha=0.1).tolist()
    [1.5, 1.5]
    """
    errors = jnp.atleast_1d(jnp.asarray(error))
    return evaluate("penalty", errors, sigma, alpha, operator, kernel, combination)[0]


def multiplier(
    error: Array,
    sigma: Any = 1.0,
    alpha: Any = 0.1,
    operator: str = "<",
    kernel: str | Kernel = "softplus",
    combination: str | Combination = "sum",
) -> Array:
    """Return ∂penalty/∂error, shaped like `error`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> multiplier(jnp.zeros(2), sigma=3.0, alpha=0.1).tolist()
    [1.5, 1.5]
    """
    errors = jnp.atleast_1d(jnp.asarray(error))
    found = evaluate("multiplier", errors, sigma, alpha, operator, kernel, combination)[1]
    return found.reshape(jnp.shape(error))


def init(
    n: int,
    operator: str = "<",
    alpha: Any = 0.02,
    sigma: Any = 0.1,
    eta: float = 0.01,
    decay: float = 0.9,
    rule: str = "bounded",
    sigma_min: float = 1e-3,
    sigma_max: float = 1e6,
    tolerance: float | None = None,
) -> State:
    """Return the state of n constraints that nobody has seen yet.

    Parameters are those of `softpenalty.training.torch.AdaptivePenalty`.

    Examples
    --------
    The x nearest to 5 with x ≤ 2, whose multiplier is 3, by gradient descent:

    >>> import jax, jax.numpy as jnp
    >>> def penalized(x, state):
    ...     state = observe(state, x - 2.0)
    ...     return 0.5 * ((x - 5.0) ** 2).sum() + jax.lax.stop_gradient(weight(state)) @ (x - 2.0), state
    >>> def step(carry, _):
    ...     x, state = carry
    ...     gradient, state = jax.grad(penalized, has_aux=True)(x, state)
    ...     return (x - 0.05 * gradient, ascend(state)), None
    >>> start = jnp.zeros(1), init(1, alpha=0.1, eta=0.1, decay=0.0)
    >>> (x, state), _ = jax.lax.scan(step, start, length=400)
    >>> round(float(x[0]), 3), round(float(weight(state)[0]), 2)
    (2.0, 3.0)
    """
    found = make_rule("init", n, operator, alpha, sigma, eta, decay, rule, sigma_min, sigma_max, tolerance)
    start = jnp.log(jnp.broadcast_to(jnp.asarray(sigma, dtype=float), (n,)))
    zeros = jnp.zeros(n)
    start = jnp.clip(start, found.log_min, found.log_max)
    memory = Memory(start, zeros, zeros, zeros, zeros)
    width = jnp.asarray(found.tolerance if found.auto else alpha, dtype=float)
    return State(found, width, memory, jnp.full(n, jnp.nan), zeros)


def observe(state: State, errors: Array, mask: Array | None = None) -> State:
    """Return the state with the errors (n,) of one more batch in its average.

    `mask` (n,) says which constraints the batch says something about; no derivative goes through the state.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> state = observe(init(2, alpha=0.1), jnp.array([0.5, -0.5]), mask=jnp.array([True, False]))
    >>> state.mean.tolist()                                 # the second one was not seen
    [0.5, 0.0]
    """
    errors = jax.lax.stop_gradient(jnp.atleast_1d(errors))
    if errors.shape != state.errors.shape:
        raise ValueError(f"`observe(errors)` must have shape {state.errors.shape}; got {errors.shape}.")
    if mask is not None:
        errors = jnp.where(mask, errors, jnp.nan)
    return state._replace(errors=errors, mean=state.rule.look(jnp, state.memory, errors).mean)


def weight(state: State) -> Array:
    """Return the weights (n,), the current multipliers: ≥ 0 for ``<``, ≤ 0 for ``>``.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> state = observe(init(2, alpha=0.1, sigma=2.0), jnp.array([0.0, 10.0]))
    >>> weight(state).round(3).tolist()                     # half of sigma at the target, at most sigma
    [1.0, 2.0]
    """
    return state.rule.weight(jnp, state.memory, state.rule.tilt(jnp, state.mean, _alpha(state)))


def ascend(state: State) -> State:
    """Return the state with sigma one step on, where the last `observe` saw the constraint.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> state = ascend(observe(init(2, alpha=0.1, eta=0.1), jnp.array([5.0, -5.0])))
    >>> [round(float(each), 4) for each in sigma(state)]    # from 0.1, broken: up by eta; met: down
    [0.1105, 0.0905]
    """
    alpha = _alpha(state)
    look = state.rule.look(jnp, state.memory, state.errors)
    tilt = state.rule.tilt(jnp, look.mean, alpha)
    memory = state.rule.ascend(jnp, state.memory, look, tilt, alpha)
    return state._replace(memory=memory, errors=jnp.full_like(state.errors, jnp.nan))


def sigma(state: State) -> Array:
    """Return the weights' upper limits (n,).

    Examples
    --------
    >>> sigma(init(1, sigma=0.5)).round(6).tolist()
    [0.5]
    """
    return jnp.exp(state.memory.log_sigma)


def violation(state: State) -> Array:
    """Return how far the averaged errors break the operator (n,), ≥ 0.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> violation(ascend(observe(init(2), jnp.array([0.5, -0.5])))).tolist()
    [0.5, 0.0]
    """
    return state.rule.violation(state.memory)


def bias(state: State) -> Array:
    """Return the error (n,) at which noise is expected to leave the constraints, to second order.

    Examples
    --------
    >>> bias(init(1)).tolist()                              # none is known before noise was seen
    [0.0]
    """
    return state.rule.bias(jnp, state.memory, _alpha(state))


def _alpha(state: State) -> Array:
    return state.rule.width(jnp, state.memory, state.alpha)
