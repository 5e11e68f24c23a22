"""How precisely the user's functions return their values, seen from the values themselves.

A function may compute in single precision, or print and read its result with six digits. Differences over the
usual steps are then zero or noise. The numbers show it: they all are single precision numbers, or decimal
numbers of few digits, and hardly differ from each other on that grid.
"""

from __future__ import annotations

import numpy as np

from ..types import Array, Indices

__all__ = ["EPS", "Precision", "returned_precision"]

EPS = float(np.finfo(float).eps)
FLOATS = (np.float16, np.float32)  # coarser numbers than ours
DIGITS = 12  # decimal numbers of so many digits are coarse; double precision needs 15 to 17
OFFSET = 1e3  # a value so many times larger than its variation calls for larger steps
COARSEST = 1e-3  # precision that steps are chosen for at most
PROPORTIONAL = 0.1  # a slope over the smaller step that is at least this share of the one over the larger
RESOLVED = 1e4  # a change of so many spacings of the grid is accurate enough whatever the grid


def returned_precision(here: float, there: Array) -> float | None:
    """Relative spacing of the numbers that a function returns, from its values ``here`` and nearby.

    None where all are equal, so that nothing can be said.
    """
    changed = there[(there != here) & np.isfinite(there)]
    if not changed.size:
        return None
    change = np.abs(changed - here)
    size = np.maximum(np.abs(changed), abs(here))
    with np.errstate(over="ignore"):
        for dtype in FLOATS:
            spacing = float(np.finfo(dtype).eps)
            if (changed.astype(dtype) == changed).all() and (change < RESOLVED * spacing * size).any():
                return spacing
    digits = max(_digits(value) for value in changed.tolist())
    spacing = 10.0 ** (1 - digits)
    return spacing if digits <= DIGITS and (change < RESOLVED * spacing * size).any() else EPS


def _digits(value: float) -> int:
    """Decimal digits that ``value`` needs."""
    if float(f"{value:.{DIGITS}g}") != value:
        return DIGITS + 5
    mantissa = f"{value:.{DIGITS - 1}e}".partition("e")[0]
    return max(len(mantissa.strip("-0").replace(".", "")), 1)


class Precision:
    """What is known of the precision of some functions, one entry each, and the precision to difference for.

    Attributes
    ----------
    spacing : relative spacing of the numbers returned, NaN as long as nothing is known
    variation : largest change seen, extrapolated to a step of max(1, |x|)
    least : precision to assume at least, where differences over the usual step showed nothing
    """

    def __init__(self, size: int) -> None:
        self.spacing, self.variation, self.least = np.full(size, np.nan), np.zeros(size), np.zeros(size)

    @property
    def known(self) -> Array:
        """The spacing, that of double precision where nothing is known."""
        spacing: Array = np.where(np.isnan(self.spacing), EPS, self.spacing)
        return spacing

    def required(self, which: Indices, here: Array, *, central: bool) -> float:
        """The precision to choose steps for, from the functions ``which`` and their values.

        A value with a large constant in it loses its digits to the constant. Central differences, whose steps
        are about precision^(1/3), make up for it; forward ones only where they would show nothing at all.
        """
        spacing, variation = self.known[which], self.variation[which]
        precision = max(float(spacing.max(initial=EPS)), float(self.least[which].max(initial=0.0)))
        if central:
            seen = variation > 0.0
            offset = spacing[seen] * np.abs(here[seen]) / variation[seen]
            precision = max(precision, float(offset[offset > OFFSET * EPS].max(initial=0.0)))
        return min(precision, COARSEST)

    def learn(self, which: Indices, here: Array, there: Array) -> Indices:
        """Take in values nearby, (points, functions), and return those of ``which`` that showed nothing."""
        flat = []
        for i in np.flatnonzero(
            self.spacing[which] != EPS
        ):  # decimals may be fixed: look at coarse ones again
            spacing = returned_precision(float(here[i]), there[:, i])
            if spacing is not None:
                self.spacing[which[i]] = np.fmax(self.spacing[which[i]], spacing)
            elif np.isnan(self.spacing[which[i]]) and np.isfinite(there[:, i]).any():
                flat.append(i)
        return np.array(flat, dtype=np.int64)

    def learn_flat(self, which: Indices, here: Array, there: Array, steps: Array) -> None:
        """Take in values over two larger relative steps of functions that do not change over the usual one.

        A function that is constant there, or flat because its derivative is zero, needs no larger steps; one
        whose changes are proportional to the step, or visible over the largest only, does.
        """
        for i, function in enumerate(which):
            spacing = returned_precision(float(here[i]), there[:, i])
            self.spacing[function] = EPS if spacing is None else spacing  # None: a constant
            slopes = np.abs(there[:, i] - here[i]) / steps
            if spacing is not None and (slopes[0] == 0.0 or slopes[0] > PROPORTIONAL * slopes[1]):
                self.least[function] = spacing * abs(here[i]) / float(np.fmax(*slopes))

    def saw(self, which: Indices, jacobian: Array, x: Array) -> None:
        """Take in derivatives."""
        changes = (np.abs(jacobian) * np.maximum(1.0, np.abs(x))).max(axis=1, initial=0.0)
        self.variation[which] = np.fmax(self.variation[which], changes)
