"""Units for the variables, where theirs are very different.

The algorithm's first matrix is a multiple of the identity, so it takes all variables to be of about the
same size. Two witnesses tell where they are not. Derivatives: a variable measured in a unit a thousand times
smaller has derivatives a thousand times smaller; row and column scalings that make the largest entry of every
row and column of the derivatives one (Ruiz 2001) show it, whatever the units of the functions are. And the
variable's own size at the start, or between its bounds. Either may err, a derivative because it happens to be
zero there, so a unit is changed as far as both demand it.
"""

from __future__ import annotations

import numpy as np

from ...core import compiled
from ...types import Array

__all__ = ["variable_units"]

BAND = 1e2  # units within this factor of the usual one stay as they are
NEGLIGIBLE = 1e-15  # entries below this share of the largest in their row are rounding
SWEEPS = 20  # of the scaling, which converges by half a digit each


def variable_units(
    gradient: Array, jacobian: Array, x: Array, lower: Array, upper: Array
) -> tuple[Array, Array, Array]:
    """Units (n,), typical sizes (n,) and how far the variables are likely to go (n,), in the user's units.

    The units are powers of two, so that nothing is rounded, and 1 for all but unusual variables. The typical
    size is what the witnesses agree upon, 1 where they do not. A variable is likely to go as far as |x| or,
    where that is 0, as far as the derivatives suggest.

    Parameters
    ----------
    gradient : (n,) of the objective
    jacobian : (m, n) of the rows
    x : (n,) where they were taken
    lower, upper : (n,) bounds
    """
    return units_of(gradient, jacobian, x, lower, upper, BAND, NEGLIGIBLE, SWEEPS)


@compiled
def units_of(
    gradient: Array,
    jacobian: Array,
    x: Array,
    lower: Array,
    upper: Array,
    band: float,
    negligible: float,
    sweeps: int,
) -> tuple[Array, Array, Array]:
    """Units, typical sizes and likely sizes (n,); see `variable_units`."""
    width = upper - lower
    size = np.where((x == 0.0) & np.isfinite(width), width, np.abs(x))
    sized = size > 0.0
    usual = float(np.median(size[sized])) if sized.any() else 1.0
    M = np.abs(np.vstack([gradient, jacobian]))
    steep = _from_derivatives(M, size / usual, sweeps)
    # A variable that is 0 and unbounded has no size: it may be small where it is steep, but it is not large.
    own = np.log2(size / usual, out=np.minimum(steep, 0.0), where=sized)
    agreed = np.where(steep * own > 0.0, np.sign(steep) * np.minimum(np.abs(steep), np.abs(own)), 0.0)
    agreed += min(np.log2(usual), 0.0)  # all of them may be small
    beyond = np.sign(agreed) * np.maximum(np.abs(agreed) - np.log2(band), 0.0)
    likely = np.where(x == 0.0, usual * np.exp2(steep), np.abs(x))
    likely[(negligible * M.max(axis=1, keepdims=True) >= M).all(axis=0) & (x == 0.0)] = 0.0
    return np.exp2(np.round(beyond)), np.exp2(agreed), likely


def _from_derivatives(M: Array, size: Array, sweeps: int) -> Array:
    """Binary logarithms of the units in which the columns of ``M`` (m, n) ≥ 0 are alike, 0 for zeros.

    Derivatives tell only how the variables compare; as a whole they are made to fit the ``size`` (n,) of
    those that have one.
    """
    exponents = np.zeros(M.shape[1])
    M = M[M.any(axis=1)]
    present = M.any(axis=0)
    if not present.any():
        return exponents
    M = M[:, present]
    columns = np.ones(M.shape[1])
    for _ in range(sweeps):
        M *= (1.0 / np.sqrt(M.max(axis=1)))[:, None]
        change = 1.0 / np.sqrt(M.max(axis=0))
        M *= change
        columns *= change
    sized = size[present] > 0.0
    columns *= np.median(size[present][sized] / columns[sized]) if sized.any() else 1.0 / np.median(columns)
    exponents[present] = np.log2(columns)
    return exponents
