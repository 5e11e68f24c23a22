"""A curve fitted to noisy data that must not fall anywhere: 60 slopes ≥ 0 as constraints, in JAX with optax.

The whole training is one compiled scan. The multipliers say where the data would like to fall.

    python constrained_fit_jax.py [picture.png]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import optax

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from softpenalty.training import jax as sp

CHECKED = jnp.linspace(0.0, 1.0, 60)  # where the slope is checked


def data():
    random = np.random.default_rng(1)
    t = np.sort(random.random(60))
    truth = 0.5 * np.tanh(8.0 * (t - 0.25)) + 0.5 * np.tanh(8.0 * (t - 0.85))
    return jnp.asarray(t), jnp.asarray(truth + 0.25 * random.normal(size=t.size))


def curve(parameters, t):
    """A sum of 20 bumps."""
    centres = jnp.linspace(-0.05, 1.05, 20)
    return jnp.exp(-(((t[..., None] - centres) / 0.08) ** 2)) @ parameters


slopes = jax.vmap(jax.grad(curve, argnums=1), in_axes=(None, 0))


def train(constrained, steps=4000):
    """Return the parameters and the state of the constraints."""
    t, value = data()
    optimizer = optax.adam(optax.cosine_decay_schedule(0.03, steps))

    def penalized(parameters, state):
        objective = jnp.mean((curve(parameters, t) - value) ** 2) + 1e-3 * jnp.mean(parameters**2)
        if not constrained:
            return objective, state
        error = slopes(parameters, CHECKED)
        state = sp.observe(state, error)
        return objective + jax.lax.stop_gradient(sp.weight(state)) @ error, state

    def step(carry, _):
        parameters, state, memory = carry
        gradient, state = jax.grad(penalized, has_aux=True)(parameters, state)
        updates, memory = optimizer.update(gradient, memory, parameters)
        return (optax.apply_updates(parameters, updates), sp.ascend(state), memory), None

    parameters = jnp.zeros(20)
    state = sp.init(
        len(CHECKED), operator=">", alpha=0.05, sigma=1e-3, sigma_min=1e-6, eta=0.03, decay=0.0, rule="log"
    )
    start = parameters, state, optimizer.init(parameters)
    (parameters, state, _), _ = jax.jit(lambda start: jax.lax.scan(step, start, length=steps))(start)
    return parameters, state


def main(picture, steps=4000):
    """Fit with and without the constraints, draw, and return the smallest slope of both."""
    free, _ = train(False, steps)
    parameters, state = train(True, steps)
    least = {
        "free": float(slopes(free, CHECKED).min()),
        "constrained": float(slopes(parameters, CHECKED).min()),
    }
    print(
        f"smallest slope: {least['free']:.2f} without the constraints, {least['constrained']:.4f} with them"
    )

    t, value = data()
    fine = jnp.linspace(0.0, 1.0, 400)
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(7.0, 5.0), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    top.plot(t, value, "o", color="0.6", markersize=4, label="data")
    top.plot(fine, curve(free, fine), color="C0", linewidth=1, label="free fit")
    top.plot(fine, curve(parameters, fine), color="C3", linewidth=2, label="fit that never falls")
    top.legend(frameon=False)
    top.set(ylabel="value")
    bottom.bar(CHECKED, -sp.weight(state), width=0.012, color="C3")
    bottom.set(xlabel="t", ylabel="−multiplier", xlim=(-0.01, 1.01))
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")
    return least


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else f"{tempfile.gettempdir()}/constrained_fit_jax.png"))
