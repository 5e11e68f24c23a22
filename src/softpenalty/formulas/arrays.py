"""Which arrays come in, and how a formula is applied to them.

Every formula of this package is written once, against the functions that NumPy, PyTorch and JAX share.
This module finds those functions for the arrays at hand and takes care of what surrounds a formula: a float
in gives a float out, float32 stays float32, float16 goes through float32 (the squares in a formula are
beyond its range), large NumPy arrays are worked through in blocks that fit into the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Array", "Formula", "apply", "beside", "check_positive", "like", "maximum", "minimum", "namespace"]

Array = Any  #: a NumPy, PyTorch or JAX array, or a float
Formula = Callable[..., Any]
SMALLEST = float(np.finfo(float).tiny)  # positive number: smaller ones have no reciprocal
NUMPY = (np.ndarray, np.generic, float, int, list, tuple)  # what NumPy takes, alone or beside other arrays

_FOUND: dict[type, Any] = {}  # by type of array; `torch.compile` can look it up, not find out

BLOCK = 8192  # elements; the temporaries of a formula (64 KiB each) stay in the second-level cache

# glibc hands freed memory at the top of the heap back to the kernel, and faults it in again for the next
# temporary, unless a larger piece was freed before. Freeing one (never touched) piece, the largest it takes
# notice of, makes evaluation in blocks up to three times faster; elsewhere it does nothing.
np.empty(2**22 - 2**12)


def namespace(*arrays: Array) -> Any:
    """Return the module that holds the array functions for `arrays` (NumPy for floats and lists)."""
    others = [array for array in arrays if not isinstance(array, NUMPY)]
    if not others:
        return np
    kind = type(others[0])
    if kind not in _FOUND or any(type(array) is not kind for array in others):
        from array_api_compat import array_namespace

        _FOUND[kind] = array_namespace(*others)
    return _FOUND[kind]


def check_numbers(call: str, argument: str, value: Array) -> None:
    """Raise TypeError unless `value` is a real number, or an array of them of any library."""
    if type(value) is float or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        return
    try:
        if isinstance(value, NUMPY):
            real = np.asarray(value).dtype.kind in "fiub" and not isinstance(value, np.ma.MaskedArray)
        else:
            real = hasattr(value, "dtype") and namespace(value) is not None
    except (TypeError, ValueError, OverflowError):
        real = False
    if not real:
        raise TypeError(
            f"`{call}({argument}=...)` must be a real number or an array of real numbers; got {value!r}."
        )


def check_positive(call: str, argument: str, number: Array) -> None:
    """Raise an error unless `number` (a float or an array) is finite and positive throughout.

    Values that do not exist yet, as those traced by `jax.jit`, are let through.
    """
    check_numbers(call, argument, number)
    if isinstance(number, NUMPY):
        positive = SMALLEST <= number < np.inf if isinstance(number, (float, int)) else _all_positive(number)
        if not positive:
            raise ValueError(f"`{call}({argument}=...)` must be positive and finite; got {number!r}.")


def _all_positive(number: Array) -> bool:
    array = np.asarray(number, dtype=float)
    return bool(np.count_nonzero((array >= SMALLEST) & (array < np.inf)) == array.size)


def maximum(xp: Any, array: Array, limit: Array) -> Array:
    """Return the larger of both; at a tie automatic differentiation gives each half."""
    return xp.maximum(array, limit if xp is np else _full(xp, array, limit))


def minimum(xp: Any, array: Array, limit: Array) -> Array:
    """Return the smaller of both."""
    return xp.minimum(array, limit if xp is np else _full(xp, array, limit))


def _full(xp: Any, array: Array, limit: Array) -> Array:
    return xp.full_like(array, limit) if isinstance(limit, float) else limit  # PyTorch takes no floats here


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
    usual = type(error) is np.ndarray and error.dtype.kind == "f" and error.dtype.itemsize > 2
    if usual and {float}.issuperset(map(type, parameters)):
        return _apply_numpy(formula, error, parameters)  # the usual case, with the least ado
    if isinstance(error, (float, int)) and all(isinstance(p, (float, int)) for p in parameters):
        with np.errstate(over="ignore"):
            result = formula(np, np.float64(error), *parameters)
        return tuple(map(float, result)) if isinstance(result, tuple) else float(result)
    xp = namespace(error, *parameters)
    if xp is np:
        error = np.asarray(error)
        if error.dtype.kind != "f":
            error = error.astype(float)
        if error.dtype == np.float16:
            return _in_float32(np, formula, error, parameters)
        return _apply_numpy(formula, error, tuple(like(np, parameter, error) for parameter in parameters))
    if isinstance(error, NUMPY):
        error = xp.asarray(error, dtype=next(p.dtype for p in parameters if not isinstance(p, NUMPY)))
    if not xp.isdtype(error.dtype, "real floating"):
        error = xp.astype(error, xp.asarray(0.0).dtype)
    if error.dtype == getattr(xp, "float16", None):
        return _in_float32(xp, formula, error, parameters)
    return formula(xp, error, *(like(xp, parameter, error) for parameter in parameters))


def _in_float32(xp: Any, formula: Formula, error: Array, parameters: tuple[Array, ...]) -> Any:
    def cast(array: Array, dtype: Any) -> Array:
        return array.astype(dtype) if xp is np else xp.astype(array, dtype)

    results = apply(formula, cast(error, xp.float32), *parameters)
    with np.errstate(over="ignore"):
        if isinstance(results, tuple):
            return tuple(cast(result, error.dtype) for result in results)
        return cast(results, error.dtype)


def _apply_numpy(formula: Formula, error: Array, parameters: tuple[Array, ...]) -> Any:
    with np.errstate(over="ignore"):  # a ratio error/alpha beyond the largest number is rightly infinite
        if error.size > BLOCK and error.flags.c_contiguous and all(isinstance(p, float) for p in parameters):
            return _in_blocks(formula, error, parameters)
        return formula(np, error, *parameters)


def like(xp: Any, parameter: Array, error: Array) -> Array:
    """Return `parameter` as a float, or as an array of the type (and device) of `error`."""
    if isinstance(parameter, (float, int)):
        return float(parameter)
    if xp is np:
        array = np.asarray(parameter, dtype=error.dtype)
        return float(array) if array.ndim == 0 else array
    if isinstance(parameter, NUMPY):
        return beside(xp, np.asarray(parameter, dtype=float), error, error.dtype)
    return xp.astype(parameter, error.dtype)


def beside(xp: Any, array: Any, error: Array, dtype: Any = None) -> Array:
    """Return a NumPy array as one of the library of `error`, on its device (JAX moves its arrays itself)."""
    place = {"device": error.device} if xp.__name__.endswith("torch") else {}
    return xp.asarray(array, dtype=dtype, **place)


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
