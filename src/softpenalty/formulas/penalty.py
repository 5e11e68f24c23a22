"""From the errors of all constraints to one penalty and its multipliers: the formulas put together once.

NumPy, PyTorch and JAX arrays take the same way through it, and nothing is written in place, so it can be
differentiated, compiled and mapped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array, beside, like, namespace
from .combinations import Combination, find_combination
from .kernels import Kernel, find_kernel

__all__ = ["penalty_and_multipliers"]


def penalty_and_multipliers(
    errors: Array,
    sign: Array = 1.0,
    equality: Any = False,
    sigma: Array = 1.0,
    alpha: Array = 1.0,
    shift: Array | None = None,
    kernel: str | Kernel = "softplus",
    combination: str | Combination = "sum",
) -> tuple[Array, Array]:
    """Return the penalty and ∂penalty/∂error of every constraint (Table 1 with Eq. 4 or 8).

    Parameters
    ----------
    errors : array (m,) or (m, S)
        value − target of m constraints, signed, at one point or at S of them.
    sign : float or array (m,)
        +1 for the operators ``<`` and ``=``, −1 for ``>``.
    equality : bool or array of bool (m,)
        Where the operator is ``=``. Never traced: it is part of the problem, as m is.
    sigma, alpha : float or array (m,)
        Weight and corner width.
    shift : array (m,), optional
        Added to every multiplier: an equality then has the saturations sigma + shift above its target and
        sigma − shift below it.
    kernel, combination : str
        Names in `KERNELS` and `COMBINATIONS`.

    Returns
    -------
    penalty : scalar or array (S,)
    multipliers : array like `errors`

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.array([0.0, -3.0, 3.0])          # of u < a, v > b and w = c
    >>> sign, equality = np.array([1.0, -1.0, 1.0]), np.array([False, False, True])
    >>> penalty, multipliers = penalty_and_multipliers(errors, sign, equality, sigma=2.0, alpha=0.1)
    >>> penalty.round(6), multipliers.round(6)
    (np.float64(12.2), array([ 1., -2.,  2.]))
    """
    g = find_kernel("penalty_and_multipliers", kernel)
    combined = find_combination("penalty_and_multipliers", combination)
    xp = namespace(errors)
    sign, sigma, alpha = (_per_row(xp, parameter, errors) for parameter in (sign, sigma, alpha))
    if isinstance(equality, bool):
        some = every = equality
    else:
        equal = np.asarray(equality)
        equalities = int(np.count_nonzero(equal))
        some, every = equalities > 0, equalities == equal.size

    def formula(xp: Any, residuals: Array, alpha: Array) -> tuple[Array, ...]:
        """One side's values and slopes, then those of both sides, where they are needed."""
        values, slopes, _ = g.evaluate_formula(xp, residuals, alpha)
        if not some:
            return values, slopes
        both = values + g.value_formula(xp, -residuals, alpha), g.tilt_formula(xp, residuals, alpha)
        return both if every else (values, slopes, *both)

    values, slopes, *both = g.apply("penalty_and_multipliers", formula, sign * errors, alpha)
    if both:
        chosen = beside(xp, equal if errors.ndim == 1 else equal[:, None], errors)
        values, slopes = xp.where(chosen, both[0], values), xp.where(chosen, both[1], slopes)
    terms = sigma * values
    penalty = combined.value(terms)
    multipliers = combined.multipliers(terms, sigma * sign * slopes)
    if shift is not None:
        shift = like(xp, shift, errors)
        penalty = penalty + shift @ errors
        multipliers = multipliers + _per_row(xp, shift, errors)
    return penalty, multipliers


def _per_row(xp: Any, parameter: Array, errors: Array) -> Array:
    """Return a float, or an array that broadcasts with `errors` along their first axis."""
    if type(parameter) is float:
        return parameter
    if type(parameter) is not np.ndarray or parameter.dtype is not getattr(errors, "dtype", None):
        parameter = like(xp, parameter, errors)  # else it would change nothing
    return parameter[:, None] if errors.ndim == 2 and getattr(parameter, "ndim", 0) == 1 else parameter
