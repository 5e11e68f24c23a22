"""Derivatives of the user's functions by differences, at points that never leave the bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..types import Array
from .precision import EPS

__all__ = ["Stencil", "relative_step", "stencils"]

# Relative steps that balance truncation against rounding: eps^(1/2) for one-sided differences, eps^(1/3) for
# central ones, eps being what the values are known to. The complex step does not cancel, so it may be as
# small as one likes.
EXPONENTS = {"2-point": 1 / 2, "3-point": 1 / 3}
COMPLEX_STEP = 1e-30


@dataclass(frozen=True)
class Stencil:
    """The points needed for one column of a Jacobian, and how to combine the values there."""

    column: int
    points: list[Array]  #: (n,) each
    combine: Callable[[Array, list[Array]], Array]  #: (value at x, values at points) → column


def relative_step(scheme: str, precision: float) -> float:
    """The step of a scheme for values known to ``precision``, relative to the size of x."""
    return COMPLEX_STEP if scheme == "cs" else precision ** EXPONENTS[scheme]


def stencils(
    x: Array,
    scheme: str,
    lower: Array,
    upper: Array,
    precision: float = EPS,
    typical: Array | float = 1.0,
) -> list[Stencil]:
    """Return a stencil for each variable that is free to move.

    Parameters
    ----------
    x : array (n,)
    scheme : {"2-point", "3-point", "cs"}
    lower, upper : array (n,)
        Limits that no point crosses. A variable that is outside already is not held back.
    precision : float
        Relative accuracy of the values.
    typical : float or array (n,)
        Sizes that steps are relative to where |x| is smaller.
    """
    if scheme == "cs":
        return [_complex_step(x, j) for j in range(x.size)]
    steps = relative_step(scheme, precision) * np.maximum(typical, np.abs(x))
    outside = (x < lower) | (x > upper)
    below = np.where(outside, np.inf, x - lower)
    above = np.where(outside, np.inf, upper - x)
    make = _one_sided if scheme == "2-point" else _central
    return [make(x, j, steps[j], below[j], above[j]) for j in range(x.size) if max(below[j], above[j]) > 0.0]


def _moved(x: Array, column: int, step: complex) -> Array:
    moved = x.astype(complex) if isinstance(step, complex) else x.copy()
    moved[column] += step
    return moved


def _complex_step(x: Array, column: int) -> Stencil:
    step = COMPLEX_STEP * max(1.0, abs(x[column]))
    return Stencil(column, [_moved(x, column, 1j * step)], lambda _, values: values[0].imag / step)


def _one_sided(x: Array, column: int, step: float, below: float, above: float) -> Stencil:
    """(F(x + h) − F(x))/h, backwards where the upper limit is in the way."""
    if above >= step:
        signed = step
    elif below >= step:
        signed = -step
    else:
        signed = above if above >= below else -below
    point = _moved(x, column, signed)
    exact = point[column] - x[column]  # the step that rounding has left
    return Stencil(column, [point], lambda here, values: (values[0] - here) / exact)


def _central(x: Array, column: int, step: float, below: float, above: float) -> Stencil:
    """(F(x + h) − F(x − h))/2h, or three points on one side near a limit."""
    if min(below, above) >= step:
        ahead, back = _moved(x, column, step), _moved(x, column, -step)
        exact = ahead[column] - back[column]
        return Stencil(column, [ahead, back], lambda _, values: (values[0] - values[1]) / exact)
    room = max(below, above)
    signed = min(step, room / 2.0) * (1.0 if above >= below else -1.0)
    near, far = _moved(x, column, signed), _moved(x, column, 2.0 * signed)
    h, k = near[column] - x[column], far[column] - x[column]
    return Stencil(
        column,
        [near, far],
        lambda here, values: (
            (values[0] - here) * (k / (h * (k - h))) - (values[1] - here) * (h / (k * (k - h)))
        ),
    )
