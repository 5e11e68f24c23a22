"""What a user's function returned, as an array of our own: a copy of real numbers, of the right shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..types import Array

__all__ = ["NotRealError", "WrongShapeError", "floats", "real", "square"]


class WrongShapeError(ValueError):
    """A function returned something of the wrong shape: a mistake, not a failed simulation."""


class NotRealError(ValueError):
    """A function returned complex numbers: it is not defined there, as a root of a negative number."""


def floats(who: str, returned: Any) -> Array:
    """Return a copy of what the function `who` returned as an array of floats."""
    try:
        return real(who, np.array(returned)).astype(float, copy=False)
    except NotRealError:
        raise
    except (TypeError, ValueError) as mistake:
        raise WrongShapeError(f"{who} must return numbers: {mistake}; got {returned!r}.") from mistake


def real(who: str, array: Array) -> Array:
    """Return `array`, without its imaginary part where that is 0."""
    if array.dtype.kind != "c":
        return array
    if array.imag.any():
        raise NotRealError(f"{who} must return real numbers; got {array}.")
    return array.real


def square(who: str, returned: Any, n: int) -> Any:
    """Return a copy of the matrix (n, n) that `who` returned: dense, sparse, or SciPy's LinearOperator."""
    if hasattr(returned, "matmat"):
        returned = returned.matmat(np.eye(n))
    matrix = returned.copy() if hasattr(returned, "tocsr") else floats(who, returned)
    if matrix.shape == (n, n):
        return matrix
    if matrix.size == n == 1:
        return matrix.reshape(n, n)
    raise WrongShapeError(f"{who} must return shape ({n}, {n}); got {matrix.shape}.")
