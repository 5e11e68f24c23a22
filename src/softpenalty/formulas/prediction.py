"""Which error a penalty will leave, known in advance (Eqs. 9–14), and the parameters for a wanted error.

At the minimum of objective + penalty the slope of the penalty balances the gradient of the objective. So the
error is where the kernel's slope, times sigma, equals the gradient: the inverse slope of gradient/sigma.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .arrays import Array, apply, check_numbers, check_positive, maximum, namespace
from .kernels import Kernel, find_kernel
from .operators import find_operator

__all__ = ["Recommendation", "predicted_error", "recommend"]


def predicted_error(
    gradient: Array,
    sigma: Array,
    alpha: Array,
    operator: str = "<",
    kernel: str | Kernel = "softplus",
) -> Array:
    """Return the size of the error that one active constraint is left with.

    These are the paper's Eqs. 10–14.

    Parameters
    ----------
    gradient : float or array
        Size of the objective's gradient against the constraint, per unit of the constraint's value; with
        several constraints, the multiplier. Its sign does not matter.
    sigma, alpha : float or array
        Weight and corner width; `alpha` is not used by ``quadratic`` and ``linear``.
    operator : {"<", "=", ">", "<=", "==", ">="}
    kernel : str
        A name in `KERNELS`.

    Returns
    -------
    float or array
        ≥ 0. Infinite where the penalty is too weak to hold (gradient ≥ sigma, except for ``quadratic``),
        and for the inequalities of the smooth kernels also at gradient 0, where nothing holds the minimum
        near the target.

    Examples
    --------
    >>> predicted_error(1.0, 2.0, 0.1)                      # sigma twice the gradient: no error
    0.0
    >>> predicted_error(1.0, 15.0, 3e-5, "<", "algebraic")  # the paper's setting
    0.00010423188434584551
    >>> predicted_error(3.0, 2.0, 0.1)                      # too weak
    inf
    """
    g = find_kernel("predicted_error", kernel)
    equality = find_operator("predicted_error", operator) == "="
    check_numbers("predicted_error", "gradient", gradient)
    check_positive("predicted_error", "sigma", sigma)
    if g.has_width:
        check_positive("predicted_error", "alpha", alpha)

    def formula(xp: Any, gradient: Array, sigma: Array, alpha: Array) -> Array:
        fraction = abs(gradient) / sigma
        error = abs((g.inverse_tilt_formula if equality else g.inverse_slope_formula)(xp, fraction, alpha))
        return xp.where(fraction >= 1.0, math.inf, error) if g.saturates else error

    with np.errstate(divide="ignore", invalid="ignore"):
        return apply(formula, gradient, sigma, alpha if g.has_width else 1.0)


class Recommendation(NamedTuple):
    """Parameters for one constraint, and the error they leave.

    Examples
    --------
    >>> sigma, alpha, error = recommend(gradient=3.0, tolerance=1e-3, factor=1.0)
    >>> sigma, alpha, error                                 # the gradient is known: no error left
    (6.0, 0.001, 0.0)
    """

    sigma: Any  #: weight
    alpha: Any  #: corner width (not used by ``quadratic`` and ``linear``)
    error: Any  #: the largest error left while the gradient is within the stated factor


def recommend(
    gradient: Array,
    tolerance: Array,
    operator: str = "<",
    kernel: str | Kernel = "softplus",
    factor: float = 1.5,
) -> Recommendation:
    """Return sigma and alpha for a wanted error, by the rules of the paper's section "Parameters".

    Sigma is a small multiple of the gradient: ``(factor + 1/factor) * gradient``. That is the paper's twice
    the gradient where the gradient is known exactly (factor 1), and leaves the margin it advises where it is
    not; it makes the errors at both ends of the range, gradient/factor and gradient·factor, equal in size.
    Alpha then follows from the wanted error, which is proportional to it. For ``quadratic``, which has no
    alpha, sigma follows from the wanted error alone.

    Parameters
    ----------
    gradient : float or array
        Expected size of the objective's gradient against the constraint (or the multiplier).
    tolerance : float or array
        Wanted size of the error.
    operator, kernel : str
        As for `predicted_error`.
    factor : float
        How well the gradient is known: the true one lies between gradient/factor and gradient·factor.

    Examples
    --------
    >>> choice = recommend(gradient=3.0, tolerance=1e-3)
    >>> round(choice.sigma, 3), round(choice.alpha, 6), round(choice.error, 6)
    (6.5, 0.000855, 0.001)
    >>> predicted_error(3.0 * 1.5, choice.sigma, choice.alpha) <= 1e-3
    True
    """
    g = find_kernel("recommend", kernel)
    check_positive("recommend", "gradient", gradient)
    check_positive("recommend", "tolerance", tolerance)
    if not isinstance(factor, (int, float, np.number)):
        raise TypeError(f"`recommend(factor=...)` must be a number; got {factor!r}.")
    if not 1.0 <= factor <= float(np.finfo(float).max):
        raise ValueError(f"`recommend(factor=...)` must be at least 1 and finite; got {factor!r}.")
    gradient, tolerance = (
        np.asarray(a) if isinstance(a, (list, tuple)) else a for a in (gradient, tolerance)
    )
    strongest = gradient * factor
    if g.saturates:
        sigma = gradient * (factor + 1.0 / factor)
        unit = predicted_error(strongest, sigma, 1.0, operator, g)
        xp = namespace(unit)
        # At factor 1 no alpha leaves any error: alpha as large as the tolerance is the natural choice.
        alpha = tolerance / (max(unit, 1.0) if isinstance(unit, float) else maximum(xp, unit, 1.0))
    else:
        sigma, alpha = strongest / (2.0 * tolerance), tolerance
    return Recommendation(sigma, alpha, predicted_error(strongest, sigma, alpha, operator, g))
