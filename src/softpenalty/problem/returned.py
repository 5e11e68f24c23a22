"""What a user's function returned, as an array of our own: a copy of real numbers, of the right shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import compiled
from ..types import Array

__all__ = [
    "NotRealError", "WrongShapeError", "finite_parts", "floats", "real", "square", "usual_derivatives",
    "usual_values",
]  # fmt: skip


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


@compiled
def usual_values(returned: list[Any]) -> list[Array] | None:
    """Copies with one axis of what is a float or an array of floats with one axis; None where one is not."""
    copies = []
    for value in returned:
        if isinstance(value, float):
            copies.append(np.array([value]))
        elif type(value) is np.ndarray and value.dtype == float and value.ndim == 1:
            copies.append(value.copy())
        else:
            return None
    return copies


@compiled
def usual_derivatives(returned: list[Any], sizes: list[int], n: int) -> tuple[Array, Array] | None:
    """Copies of a gradient (n,) and, stacked, of Jacobians (size, n); None where one is no such array of floats."""
    shapes = [(n,), *((size, n) for size in sizes)]
    for value, shape in zip(returned, shapes, strict=True):
        if not (type(value) is np.ndarray and value.dtype == float and value.shape == shape):
            return None
    return returned[0].copy(), np.concatenate([np.zeros((0, n)), *returned[1:]])


@compiled
def finite_parts(parts: list[Array]) -> bool:
    """Whether all entries of all arrays are finite."""
    return all(np.isfinite(part).all() for part in parts)
