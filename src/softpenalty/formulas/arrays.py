"""Which arrays come in, and how a formula is applied to them.

Every formula of this package is written once, against the functions that NumPy, PyTorch and JAX share.
This module finds those functions for the arrays at hand and takes care of what surrounds a formula: a float
in gives a float out, float32 stays float32, large NumPy arrays are worked through in blocks that fit into
the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Array", "Formula", "apply", "check_positive", "namespace"]

Array = Any  #: a NumPy, PyTorch or JAX array, or a float
Formula = Callable[..., Any]

BLOCK = 8192  # elements; the temporaries of a formula (64 KiB each) stay in the second-level cache

# glibc hands freed memory at the top of the heap back to the kernel, and faults it in again for the next
# temporary, unless a larger piece was freed before. Freeing one (never touched) piece makes evaluation in
# blocks up to three times faster; elsewhere it does nothing.
np.empty(2**20)


def namespace(*arrays: Array) -> Any:
    """Return the module that holds the array functions for `arrays` (NumPy for floats and lists)."""
    if all(isinstance(array, (np.ndarray, np.generic, float, int, list, tuple)) for array in arrays):
        return np
    from array_api_compat import array_namespace

    return array_namespace(*(array for array in arrays if hasattr(array, "dtype")))


def check_positive(call: str, argument: str, number: Array) -> None:
    """Raise ValueError unless `number` (a float or an array) is finite and positive throughout.

    Values that do not exist yet, as those traced by `jax.jit`, are let through.
    """
    if isinstance(number, (float, int, np.generic, np.ndarray, list, tuple)):
        positive = 0 < number < np.inf if isinstance(number, (float, int)) else _all_positive(number)
        if not positive:
            raise ValueError(f"`{call}({argument}=...)` must be positive and finite; got {number!r}.")


def _all_positive(number: Array) -> bool:
    array = np.asarray(number, dtype=float)
    return bool(np.all((array > 0) & (array < np.inf)))


def apply(formula: Formula, error: Array, *parameters: Array) -> Any:
    """Return ``formula(xp, error, *parameters)`` for any kind of array.

    Parameters
    ----------
    formula : callable
        Takes the array functions `xp`, the errors and the parameters; returns one array or a tuple of them,
        each with the shape that `error` and `parameters` broadcast to.
    error : float or array
    *parameters : float or array
        Brought to the floating-point type of `error`.
    """
    if isinstance(error, (float, int)) and all(isinstance(p, (float, int)) for p in parameters):
        with np.errstate(over="ignore"):
            result = formula(np, np.float64(error), *parameters)
        return tuple(map(float, result)) if isinstance(result, tuple) else float(result)
    xp = namespace(error, *parameters)
    if xp is np:
        return _apply_numpy(formula, error, parameters)
    if not xp.isdtype(error.dtype, "real floating"):
        error = xp.astype(error, xp.asarray(0.0).dtype)
    return formula(xp, error, *(_like(xp, parameter, error) for parameter in parameters))


def _apply_numpy(formula: Formula, error: Array, parameters: tuple[Array, ...]) -> Any:
    error = np.asarray(error)
    if error.dtype.kind != "f":
        error = error.astype(float)
    parameters = tuple(_like(np, parameter, error) for parameter in parameters)
    with np.errstate(over="ignore"):  # a ratio error/alpha beyond the largest number is rightly infinite
        if error.size > BLOCK and error.flags.c_contiguous and all(isinstance(p, float) for p in parameters):
            return _in_blocks(formula, error, parameters)
        return formula(np, error, *parameters)


def _like(xp: Any, parameter: Array, error: Array) -> Array:
    """Return `parameter` as a float, or as an array of the type (and device) of `error`."""
    if isinstance(parameter, (float, int)):
        return float(parameter)
    if xp is np:
        array = np.asarray(parameter, dtype=error.dtype)
        return float(array) if array.ndim == 0 else array
    if hasattr(parameter, "dtype") and not isinstance(parameter, (np.ndarray, np.generic)):
        return xp.astype(parameter, error.dtype)
    return xp.asarray(parameter, dtype=error.dtype)


def _in_blocks(formula: Formula, error: Any, parameters: tuple[float, ...]) -> Any:
    flat = error.reshape(-1)
    results: tuple[Any, ...] = ()
    single = False
    for start in range(0, flat.size, BLOCK):
        block = slice(start, start + BLOCK)
        parts = formula(np, flat[block], *parameters)
        if not results:
            single = not isinstance(parts, tuple)
            results = tuple(np.empty_like(error) for _ in range(1 if single else len(parts)))
            flats = tuple(result.reshape(-1) for result in results)
        for whole, part in zip(flats, (parts,) if single else parts, strict=True):
            whole[block] = part
    return results[0] if single else results
