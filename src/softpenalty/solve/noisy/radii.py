"""How far from the centre points tell something: as far as derivatives a model lacks hide in the noise."""

from __future__ import annotations

import numpy as np

from ...types import Array, Mask

__all__ = ["radii", "third_derivatives"]

LARGEST_SHARE, SMALLEST_SHARE = 0.02, 1e-16  # of noise in derivatives, from which the radii follow


def radii(weight: Array, noise: Array, second: Array, third: Array) -> tuple[float, float]:
    """Distances at which second and third derivatives equal the noise, all (functions,), weighted."""
    near, reach = _share(weight, noise, second), _share(weight, noise, third)
    return float(np.sqrt(2.0 * near)), float((6.0 * reach) ** (1.0 / 3.0))


def third_derivatives(J: Array, second: Array, active: Mask) -> Array:
    """Sizes (functions,) of third derivatives to expect from gradients J (functions, n) and second ones.

    What changes over a length has derivatives that grow by its inverse, from each to the next. Gradients of
    ``active`` rows (functions,) tell that length where it is shorter than the unit of the variables; that of
    the objective, which may vanish at a solution, does not.
    """
    steep = np.sqrt(np.vecdot(J, J))
    growth = np.divide(second, steep, out=np.ones_like(second), where=active & (steep > 0.0))
    third: Array = second * np.maximum(1.0, growth)
    return third


def _share(weight: Array, noise: Array, derivatives: Array) -> float:
    """Noise relative to derivatives."""
    share = np.sqrt(float(weight @ noise**2) / (float(weight @ derivatives**2) or 1.0))
    return float(min(max(share, SMALLEST_SHARE), LARGEST_SHARE))
