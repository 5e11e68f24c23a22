"""The operators ``<``, ``=``, ``>`` as saturations, and general saturations (Table 1, Eqs. 6 and 7).

A penalty function is one line for every operator and kernel, ``beta_plus·g(error) − beta_minus·g(−error)``,
where g is the kernel: it falls with slope `beta_minus` far below the target and rises with slope `beta_plus`
far above it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .arrays import Array, apply, check_numbers, maximum
from .kernels import Kernel, find_kernel

__all__ = ["OPERATORS", "find_operator", "penalty_function", "penalty_slope", "saturations", "violation"]

OPERATORS: Final[dict[str, tuple[float, float]]] = {"<": (0.0, 1.0), "=": (-1.0, 1.0), ">": (-1.0, 0.0)}
ALIASES: Final[dict[str, str]] = {"<=": "<", "==": "=", ">=": ">"}


def find_operator(call: str, operator: str) -> str:
    """Return the operator ``<``, ``=`` or ``>`` that is meant, or raise ValueError with the valid ones."""
    found = ALIASES.get(operator, operator) if isinstance(operator, str) else None
    if found not in OPERATORS:
        raise ValueError(
            f"`{call}(operator=...)` must be one of {', '.join(map(repr, [*OPERATORS, *ALIASES]))}; "
            f"got {operator!r}."
        )
    return found


def saturations(
    call: str, operator: str, beta_minus: float | None = None, beta_plus: float | None = None
) -> tuple[float, float]:
    """Return (beta_minus, beta_plus) of `operator`, or those given in its place."""
    low, high = OPERATORS[find_operator(call, operator)]
    for argument, beta in (("beta_minus", beta_minus), ("beta_plus", beta_plus)):
        if beta is not None:
            check_numbers(call, argument, beta)
            if np.ndim(beta):
                raise TypeError(f"`{call}({argument}=...)` must be one number; got {beta!r}.")
    low = low if beta_minus is None else float(beta_minus)
    high = high if beta_plus is None else float(beta_plus)
    if not (-np.inf < low < high < np.inf):
        raise ValueError(
            f"`{call}(beta_minus=..., beta_plus=...)` must be finite with beta_minus < beta_plus; "
            f"got {low!r} and {high!r}."
        )
    return low, high


def penalty_function(
    error: Array,
    alpha: Array,
    operator: str = "<",
    kernel: str | Kernel = "softplus",
    beta_minus: float | None = None,
    beta_plus: float | None = None,
) -> Array:
    """Return the penalty of one constraint with weight one (Table 1).

    Parameters
    ----------
    error : float or array
        value − target, signed.
    alpha : float or array
        Corner width, in units of the error; smaller is harder.
    operator : {"<", "=", ">", "<=", "==", ">="}
        What the value should be, compared with the target.
    kernel : str
        A name in `KERNELS`.
    beta_minus, beta_plus : float, optional
        Slopes far below and far above the target, in place of the operator's own.

    Examples
    --------
    >>> penalty_function(0.0, 0.1)                      # at the target: alpha
    0.1
    >>> penalty_function(-3.0, 1.0, "=", "algebraic")   # √(3² + 4)
    3.6055512754639896
    """
    g = find_kernel("penalty_function", kernel)
    check_numbers("penalty_function", "error", error)
    low, high = saturations("penalty_function", operator, beta_minus, beta_plus)

    def formula(xp: Any, error: Array, alpha: Array) -> Array:
        above = high * g.value_formula(xp, error, alpha) if high else 0.0
        below = low * g.value_formula(xp, -error, alpha) if low else 0.0
        return above - below

    return g.apply("penalty_function", formula, error, alpha)


def penalty_slope(
    error: Array,
    alpha: Array,
    operator: str = "<",
    kernel: str | Kernel = "softplus",
    beta_minus: float | None = None,
    beta_plus: float | None = None,
) -> Array:
    """Return ∂penalty_function/∂error, a sigmoid.

    These are the paper's Eqs. 6 (``softplus``) and 7 (``algebraic``). Parameters are those of
    `penalty_function`.

    Examples
    --------
    >>> penalty_slope(0.0, 0.1, "<")
    0.5
    >>> penalty_slope(0.0, 0.1, "=")
    0.0
    """
    g = find_kernel("penalty_slope", kernel)
    check_numbers("penalty_slope", "error", error)
    low, high = saturations("penalty_slope", operator, beta_minus, beta_plus)
    # What both sides share goes through the tilt, which is exact near error 0 where their sum cancels.
    shared = max(0.0, min(high, -low))
    low, high = low + shared, high - shared

    def formula(xp: Any, error: Array, alpha: Array) -> Array:
        above = high * g.slope_formula(xp, error, alpha) if high else 0.0
        below = low * g.slope_formula(xp, -error, alpha) if low else 0.0
        middle = shared * g.tilt_formula(xp, error, alpha) if shared else 0.0
        return above + below + middle

    return g.apply("penalty_slope", formula, error, alpha)


def violation(error: Array, operator: str) -> Array:
    """Return how far `operator` is broken: max(0, error), |error| or max(0, −error)."""
    return apply(_VIOLATIONS[find_operator("violation", operator)], error)


_VIOLATIONS: dict[str, Any] = {
    "<": lambda xp, error: maximum(xp, error, 0.0),
    "=": lambda xp, error: xp.abs(error),
    ">": lambda xp, error: maximum(xp, -error, 0.0),
}
