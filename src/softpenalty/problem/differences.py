"""Derivatives of the user's functions by differences, at points that never leave the bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .constraint import Floats

__all__ = ["Stencil", "stencils"]

EPS = float(np.finfo(float).eps)
# Relative steps that balance truncation against rounding: eps^(1/2) for one-sided differences, eps^(1/3) for
# central ones. The complex step does not cancel, so it may be as small as one likes.
STEPS = {"2-point": EPS ** (1 / 2), "3-point": EPS ** (1 / 3), "cs": 1e-30}


@dataclass(frozen=True)
class Stencil:
    """The points needed for one column of a Jacobian, and how to combine the values there."""

    column: int
    points: list[Floats]  #: (n,) each
    combine: Callable[[Floats, list[Floats]], Floats]  #: (value at x, values at points) → column


def stencils(x: Floats, scheme: str, lower: Floats, upper: Floats) -> list[Stencil]:
    """Return a stencil for each variable that is free to move.

    Parameters
    ----------
    x : array (n,)
    scheme : {"2-point", "3-point", "cs"}
    lower, upper : array (n,)
        Limits that no point crosses. A variable that is outside already is not held back.
    """
    if scheme == "cs":
        return [_complex_step(x, j) for j in range(x.size)]
    steps = STEPS[scheme] * np.maximum(1.0, np.abs(x))
    outside = (x < lower) | (x > upper)
    below = np.where(outside, np.inf, x - lower)
    above = np.where(outside, np.inf, upper - x)
    make = _one_sided if scheme == "2-point" else _central
    return [make(x, j, steps[j], below[j], above[j]) for j in range(x.size) if max(below[j], above[j]) > 0.0]


def _moved(x: Floats, column: int, step: complex) -> Floats:
    moved = x.astype(complex) if isinstance(step, complex) else x.copy()
    moved[column] += step
    return moved


def _complex_step(x: Floats, column: int) -> Stencil:
    step = STEPS["cs"] * max(1.0, abs(x[column]))
    return Stencil(column, [_moved(x, column, 1j * step)], lambda _, values: values[0].imag / step)


def _one_sided(x: Floats, column: int, step: float, below: float, above: float) -> Stencil:
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


def _central(x: Floats, column: int, step: float, below: float, above: float) -> Stencil:
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
