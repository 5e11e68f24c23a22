"""What a user's function returned, as an array of our own: a copy of real numbers, of the right shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import compiled
from ..types import Array

__all__ = [
    "NotRealError", "WrongShapeError", "answered", "answered_derivatives", "finite_parts", "floats", "joined",
    "real", "square", "stacked", "usual_derivatives", "usual_number", "usual_values",
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
    except (TypeError, ValueError, OverflowError) as mistake:
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
def usual_number(returned: Any, x: Array) -> Array | None:
    """A float as an array (1,); None for anything else, and where x (n,) is complex."""
    return np.array([returned]) if isinstance(returned, float) and x.dtype == float else None


@compiled
def usual_values(returned: Any, x: Array) -> Array | None:
    """A copy of an array of floats with one axis; None for anything else, and where x (n,) is complex."""
    usual = type(returned) is np.ndarray and returned.dtype == float and returned.ndim == 1
    return returned.copy() if usual and x.dtype == float else None


@compiled
def usual_derivatives(returned: Any, shape: tuple[int, ...]) -> Array | None:
    """A copy of an array of floats of that shape; None for anything else."""
    usual = type(returned) is np.ndarray and returned.dtype == float and returned.shape == shape
    return returned.copy() if usual else None


@compiled
def stacked(parts: list[Array], n: int) -> Array:
    """One array of all Jacobians (size, n)."""
    return np.concatenate([np.zeros((0, n)), *parts])


@compiled
def finite_parts(parts: list[Array]) -> bool:
    """Whether all entries of all arrays are finite."""
    return all(np.isfinite(part).all() for part in parts)


@compiled
def joined(parts: list[Array]) -> tuple[float, Array, list[int]]:
    """The objective, all values (k,), and how many each function has, from one array of each function."""
    values = np.concatenate([np.zeros(0), *parts[1:]])
    return float(parts[0][0]), values, [part.size for part in parts[1:]]


@compiled
def answered(
    functions: list[Callable[[Array], Any]], x: Array, read: Callable[[int, Any, Array], Array]
) -> tuple[float, Array, list[int], bool]:
    """Objective, values (k,), their numbers, and whether all are finite.

    What each returns is copied before the next is called: they may fill one array. ``read`` makes an array of
    what is unusual: not a float from the objective, −1, or not an array of floats with one axis from another.
    """
    parts = []
    for i, function in enumerate(functions, -1):
        returned = function(x.copy())
        part = usual_number(returned, x) if i < 0 else usual_values(returned, x)
        parts.append(read(i, returned, x) if part is None else part)
    return *joined(parts), finite_parts(parts)


@compiled
def answered_derivatives(
    functions: list[Callable[[Array], Any]],
    x: Array,
    sizes: list[int],
    read: Callable[[int, Any, int, int], Any],
) -> tuple[Array, Array] | list[Any]:
    """Gradient (n,) and Jacobian (k, n), or a list of gradient and Jacobians where one of these is sparse.

    What each returns is copied before the next is called. ``read`` makes a matrix of what is not an array of
    floats of the right shape.
    """
    n, parts = x.size, []
    for i, function in enumerate(functions, -1):
        returned = function(x.copy())
        part = usual_derivatives(returned, (n,) if i < 0 else (sizes[i], n))
        parts.append(read(i, returned, 1 if i < 0 else sizes[i], n) if part is None else part)
    if any(hasattr(part, "tocsr") for part in parts):
        return parts
    return parts[0], stacked(parts[1:], n)
