"""A constraint as the user states it, checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import compiled
from ..formulas.arrays import SMALLEST
from ..formulas.operators import find_operator
from ..types import Array

__all__ = ["DIFFERENCES", "Constraint"]

DIFFERENCES = ("2-point", "3-point", "cs")  #: ways to difference a function that comes without derivative
IMPOSSIBLE_TARGETS = {"<": (-np.inf,), "=": (-np.inf, np.inf), ">": (np.inf,)}


@dataclass(frozen=True, eq=False)
class Constraint:
    """``fun(x) operator target``, for one value or a vector of them.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` returns the constrained value, a float or an array (k,).
    operator : {"<", "=", ">", "<=", "==", ">="}
        What the value should be, compared with the target.
    target : float or array (k,)
        What it is compared with; inf for ``<`` and −inf for ``>`` where a component is free.
    jac : callable, {"2-point", "3-point", "cs"} or None
        ``jac(x)`` returns the derivatives, (n,) or (k, n), dense or sparse; otherwise they are differenced.
    name : str, optional
        For reports and for `result.multipliers`.
    sigma, alpha : float or array (k,), optional
        Weight and corner width of this constraint, in place of those of the whole penalty.
    hess : callable, optional
        ``hess(x, v)`` returns the second derivative of v·fun(x), (n, n), as in SciPy.

    Examples
    --------
    >>> Constraint(lambda x: x[0] * x[1], ">", 25.0, name="area")
    Constraint('area' > 25.0)
    """

    fun: Callable[..., Any]
    operator: str
    target: ArrayLike = 0.0
    jac: Callable[..., Any] | str | None = None
    name: str | None = None
    sigma: ArrayLike | None = None
    alpha: ArrayLike | None = None
    hess: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not callable(self.fun):
            raise TypeError(f"`Constraint(fun=...)` must be callable; got {self.fun!r}.")
        object.__setattr__(self, "operator", find_operator("Constraint", self.operator))
        check_jac("Constraint", self.jac)
        if self.hess is not None and not callable(self.hess):
            raise TypeError(f"`Constraint(hess=...)` must be callable or None; got {self.hess!r}.")
        check_name("`Constraint(name=...)`", self.name)
        target, impossible = numbers("Constraint", "target", self.target), IMPOSSIBLE_TARGETS[self.operator]
        if any((target == limit).any() for limit in impossible):
            raise ValueError(
                f"`Constraint(target=...)` with operator {self.operator!r} must not be "
                f"{' or '.join(map(str, impossible))}, which no value meets; got {self.target!r}."
            )
        if self.sigma is not None:
            check_sigma("Constraint", self.sigma)
        if self.alpha is not None:
            check_alpha("Constraint", self.alpha)

    def __repr__(self) -> str:
        name = self.name or getattr(self.fun, "__name__", "fun")
        return f"Constraint({name!r} {self.operator} {self.target})"


@compiled
def finite_or_infinite(array: Array) -> bool:
    """Whether no entry is NaN."""
    return not np.isnan(array).any()


def numbers(call: str, argument: str, value: ArrayLike) -> Array:
    """Return `value` as a float array of at most one axis without NaN, or raise an error that names it."""
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise TypeError
        if array.dtype != float:
            array = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"`{call}({argument}=...)` must be a number or an array of numbers; got {value!r}."
        ) from None
    if array.ndim > 1:
        raise ValueError(f"`{call}({argument}=...)` must have at most one axis; got shape {array.shape}.")
    if not finite_or_infinite(array):
        raise ValueError(f"`{call}({argument}=...)` must not contain NaN; got {value!r}.")
    return array


def check_name(what: str, name: Any) -> None:
    """Raise an error unless `name` is None or a string that is not taken."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"{what} must be a string; got {name!r}.")
    if name == "bounds":
        raise ValueError(
            f"{what} must not be 'bounds', which is what `result.multipliers` calls the variables' own "
            "bounds; choose another."
        )


def check_sigma(call: str, sigma: ArrayLike, argument: str = "sigma") -> Array:
    """Return `sigma` as an array, or raise ValueError unless it is ≥ 0 and finite."""
    array = numbers(call, argument, sigma)
    if not ((array >= 0) & (array < np.inf)).all():
        raise ValueError(f"`{call}({argument}=...)` must be finite and not negative; got {sigma!r}.")
    return array


def check_alpha(call: str, alpha: ArrayLike) -> Array:
    """Return `alpha` as an array, or raise ValueError unless it is positive and finite."""
    array = numbers(call, "alpha", alpha)
    if not ((array >= SMALLEST) & (array < np.inf)).all():
        raise ValueError(f"`{call}(alpha=...)` must be positive and finite; got {alpha!r}.")
    return array


def check_jac(call: str, jac: Any) -> None:
    """Raise ValueError unless `jac` is None, callable or the name of a way to difference."""
    if not (jac is None or callable(jac) or (isinstance(jac, str) and jac in DIFFERENCES)):
        names = ", ".join(map(repr, DIFFERENCES))
        raise ValueError(f"`{call}(jac=...)` must be callable, None or one of {names}; got {jac!r}.")
