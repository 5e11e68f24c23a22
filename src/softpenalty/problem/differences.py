"""Derivatives of the user's functions by differences, at points that never leave the bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..types import Array, Indices
from .precision import EPS, Precision

__all__ = ["Differences", "Stencil", "relative_step", "stencils"]

# Relative steps that balance truncation against rounding: eps^(1/2) for one-sided differences, eps^(1/3) for
# central ones, eps being what the values are known to. The complex step does not cancel, so it may be as
# small as one likes.
EXPONENTS = {"2-point": 1 / 2, "3-point": 1 / 3}
COMPLEX_STEP = 1e-30
PROBES = np.array([1e-5, 1e-3])  # relative steps to look again with where differences are exactly zero
# Where a function fails at a point of a stencil: other steps, in units of the usual one.
OTHER_STEPS = (-1.0, 0.5, -0.5, 2.0)
OTHER_CENTRAL_STEPS = (0.5, 2.0)

Evaluate = Callable[[list[Array]], Array]  # points (n,) → values (points, functions), NaN where one failed


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
    steps: Array | None = None,
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
    steps : array (n,), optional
        Steps in place of those that suit the precision.
    """
    if steps is None:
        steps = relative_step(scheme, precision) * np.maximum(typical, np.abs(x))
    if scheme == "cs":
        return [_complex_step(x, j, steps[j]) for j in range(x.size)]
    outside = (x < lower) | (x > upper)
    below = np.where(outside, np.inf, x - lower)
    above = np.where(outside, np.inf, upper - x)
    make = _one_sided if scheme == "2-point" else _central
    return [make(x, j, steps[j], below[j], above[j]) for j in range(x.size) if max(below[j], above[j]) > 0.0]


class Differences:
    """Jacobians by differences, with steps that suit what the values have shown of their precision.

    Parameters
    ----------
    size : number of values that may be differenced

    Attributes
    ----------
    precision : what is known of the values
    typical : sizes (n,) that steps are relative to where |x| is less
    """

    def __init__(self, size: int) -> None:
        self.precision = Precision(size)
        self.typical: Array | float = 1.0

    def jacobian(
        self,
        evaluate: Evaluate,
        x: Array,
        here: Array,
        which: Indices,
        scheme: str,
        bounds: tuple[Array, Array],
        lower_order: bool = True,
        steps: Array | None = None,
    ) -> tuple[Array, Array]:
        """Return the Jacobian (k, n) of some values and what rounding leaves in it, (k,).

        Parameters
        ----------
        evaluate : the functions whose values these are, at many points at once
        x : array (n,)
        here : array (k,)
            The values at x.
        which : array (k,)
            Which of all values they are.
        scheme : {"2-point", "3-point", "cs"}
        bounds : lower and upper limits (n,)
        lower_order : whether forward differences may stand in for central ones where functions fail; NaN
            otherwise
        steps : array (n,), optional
            Steps that the user set, in place of ours.
        """
        known, central = self.precision, scheme == "3-point"
        precision = known.required(which, here, central=central)
        for _ in range(2):  # once more where the first differences show that the steps were too small
            columns = stencils(x, scheme, *bounds, precision, self.typical, steps)
            values = evaluate([at for stencil in columns for at in stencil.points])
            if (
                scheme == "cs" or steps is not None
            ):  # nothing is learnt from round steps: values look round too
                break
            flat = known.learn(which, here, values)
            if flat.size and columns:
                probes = evaluate([_probe(x, step, *bounds) for step in PROBES])
                known.learn_flat(which[flat], here[flat], probes[:, flat], PROBES)
            needed = known.required(which, here, central=central)
            if needed <= precision:
                break
            precision = needed
        jacobian = np.zeros((here.size, x.size))
        remaining = iter(values)
        ahead = np.ones(x.size, dtype=bool)  # whether the first point of each stencil is defined
        for stencil in columns:
            there = [next(remaining) for _ in stencil.points]
            jacobian[:, stencil.column] = stencil.combine(here, there)
            ahead[stencil.column] = np.isfinite(there[0]).all()
        if scheme == "cs":
            return jacobian, np.zeros(here.size)
        if not np.isfinite(values).all():
            failed = np.flatnonzero(~np.isfinite(jacobian).all(axis=0)).tolist()
            h, k = (self._usual(order, precision, x, steps) for order in ("2-point", "3-point"))
            below, above = x - bounds[0], bounds[1] - x
            others: dict[int, list[Stencil]] = {j: [] for j in failed}
            for j, tries in others.items():
                if central:
                    tries += _other_central(x, j, k[j], below[j], above[j], bool(ahead[j]))
                if lower_order or not central:
                    tries += _other_one_sided(x, j, h[j], below[j], above[j])
            _mend(evaluate, here, jacobian, others)
        known.saw(which, jacobian, x)
        size = np.fmax.reduce(np.abs(np.vstack([here, values])))
        usual = self._usual(scheme, precision, x, steps) / np.maximum(self.typical, np.abs(x))
        return jacobian, known.known[which] * size / float(usual.min())

    def _usual(self, scheme: str, precision: float, x: Array, steps: Array | None) -> Array:
        """The steps (n,) at x."""
        sizes = np.maximum(self.typical, np.abs(x))
        usual: Array = relative_step(scheme, precision) * sizes if steps is None else steps
        return usual


def _probe(x: Array, step: float, lower: Array, upper: Array) -> Array:
    """A point with every variable moved by about ``step``, relative to max(1, |x|), inside the limits."""
    size = step * np.maximum(1.0, np.abs(x))
    ahead, back = np.minimum(x + size, upper), np.maximum(x - size, lower)
    return np.where(ahead - x >= x - back, ahead, back)


def _moved(x: Array, column: int, step: complex) -> Array:
    moved = x.astype(complex) if isinstance(step, complex) else x.copy()
    moved[column] += step
    return moved


def _complex_step(x: Array, column: int, step: float) -> Stencil:
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


def _other_one_sided(x: Array, column: int, step: float, below: float, above: float) -> Iterator[Stencil]:
    """Other stencils of two points, as far as there is room."""
    for factor in OTHER_STEPS:
        if factor > 0.0 and factor * step <= above:
            yield _one_sided(x, column, factor * step, 0.0, np.inf)
        elif factor < 0.0 and -factor * step <= below:
            yield _one_sided(x, column, -factor * step, np.inf, 0.0)


def _other_central(
    x: Array, column: int, step: float, below: float, above: float, ahead: bool
) -> Iterator[Stencil]:
    """Other stencils of three points, as far as there is room; ``ahead`` is the side to try first."""
    for forward in (ahead, not ahead):
        if 2.0 * step <= (above if forward else below):
            yield _central(x, column, step, *((0.0, np.inf) if forward else (np.inf, 0.0)))
    for factor in OTHER_CENTRAL_STEPS:
        if factor * step <= min(below, above):
            yield _central(x, column, factor * step, np.inf, np.inf)


def _mend(evaluate: Evaluate, here: Array, jacobian: Array, others: dict[int, list[Stencil]]) -> None:
    """Fill in the columns that failed by the first of their ``others`` that does not, all columns at once."""
    while columns := [tries.pop(0) for tries in others.values() if tries]:
        values = iter(evaluate([at for stencil in columns for at in stencil.points]))
        for stencil in columns:
            column = stencil.combine(here, [next(values) for _ in stencil.points])
            jacobian[:, stencil.column] = column
            if np.isfinite(column).all():
                del others[stencil.column]
