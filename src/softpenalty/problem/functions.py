"""The user's functions as they are called: a copy of x goes in, arrays of the right shape come out.

What they return is copied at once: many of them use one array again and again. An instance holds nothing but
the functions, so that it can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..types import Array
from .returned import (
    WrongShapeError,
    answered,
    answered_derivatives,
    floats,
    real,
    square,
    stacked,
    usual_derivatives,
    usual_number,
    usual_values,
)
from .scipy_forms import Block, with_args

__all__ = ["MISTAKES", "OBJECTIVE", "Failure", "Functions", "Sample", "stack"]

OBJECTIVE = -1  # the objective's number among the functions; constraints are counted from 0

# Mistakes in the user's program, never a simulation that failed at some point: always passed on.
MISTAKES = (
    TypeError, NameError, AttributeError, AssertionError, ImportError, SyntaxError, MemoryError,
    WrongShapeError,
)  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """A point at which a function raised an exception, or gave no answer in time."""

    error: Exception


@dataclass
class Functions:
    """The objective and the constraints with the derivatives that are given.

    Attributes
    ----------
    call : the public function in whose name errors are raised
    fun, jac, hess, args : of the objective, as SciPy has them
    blocks : the constraint functions
    """

    call: str
    fun: Callable[..., Any]
    blocks: Sequence[Block]
    jac: Any = None
    hess: Any = None
    args: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        #: Whether `fun` returns the gradient too.
        self.both = isinstance(self.jac, (bool, np.bool_)) and bool(self.jac)
        #: All functions as functions of x alone, the objective's first.
        self.callables = [with_args(self.fun, self.args)]
        self._derivatives: list[Any] = [with_args(self.jac, self.args) if callable(self.jac) else self.jac]
        for block in self.blocks:
            self.callables.append(block.fun)
            self._derivatives.append(block.jac)
        #: Whether every function has a derivative of its own.
        self.all_given = all(map(callable, self._derivatives))

    def values(self, which: Sequence[int], x: Array) -> list[Array]:
        """The values of some functions at x (n,), one array each; complex for complex x."""
        return [self._part(i, self.callables[i - OBJECTIVE](x.copy()), x) for i in which]

    def values_together(self, x: Array) -> tuple[float, Array, list[int], bool]:
        """The objective, all values (k,), how many each constraint has, and whether all are finite."""
        return answered(self.callables, x, self._part)

    def _part(self, index: int, returned: Any, x: Array) -> Array:
        """What a function returned as an array of its own."""
        if index == OBJECTIVE:
            part = usual_number(returned, x)
            return np.atleast_1d(self._objective_alone(returned, x)) if part is None else part
        part = usual_values(returned, x)
        return self._block(index, returned, x) if part is None else part

    def all_values(self, x: Array) -> list[Array]:
        """The objective and the values of every constraint, and the gradient where `fun` returns it."""
        if not self.both:
            return self.values(range(OBJECTIVE, len(self.blocks)), x)
        returned = self.fun(x.copy(), *self.args)
        try:
            objective, gradient = returned
        except (TypeError, ValueError) as mistake:
            raise WrongShapeError(
                f"`{self.call}(jac=True)`: `fun` must return the objective and its gradient: {mistake}; "
                f"got {returned!r}."
            ) from mistake
        parts = [np.atleast_1d(self._number(objective, x))]
        checked = self._checked_gradient(gradient, x.size)
        return [*parts, *self.values(range(len(self.blocks)), x), checked]

    def gradient(self, x: Array) -> Array:
        """The gradient (n,) by `jac`."""
        return self._checked_gradient(self.jac(x.copy(), *self.args), x.size)

    def derivatives(self, x: Array, sizes: list[int]) -> tuple[Array, Any]:
        """The gradient (n,) and the Jacobian (k, n) of all constraints, where all are given."""
        found = answered_derivatives(self._derivatives, x, sizes, self._derivative)
        return found if isinstance(found, tuple) else (found[0], stack(found[1:], x.size))

    def _derivative(self, index: int, returned: Any, size: int, n: int) -> Any:
        """What a derivative returned as a gradient (n,) or a Jacobian (size, n) of its own."""
        if index == OBJECTIVE:
            return self._checked_gradient(returned, n)
        return self._checked_jacobian(index, returned, size, n)

    def jacobian(self, index: int, x: Array, size: int) -> Any:
        """The Jacobian (size, n) of a constraint by its `jac`, dense or sparse."""
        jac: Any = self.blocks[index].jac
        return self._checked_jacobian(index, jac(x.copy()), size, x.size)

    def _checked_jacobian(self, index: int, jacobian: Any, size: int, n: int) -> Any:
        block = self.blocks[index]
        if block.matrix is not None:
            return jacobian
        usual = usual_derivatives(jacobian, (size, n))
        if usual is not None:
            return usual
        if hasattr(jacobian, "tocsr"):
            jacobian = jacobian.copy()
        else:
            jacobian = floats(f"`{self.call}`: the jac of {block.name!r}", jacobian)
            if jacobian.shape != (size, n) and jacobian.size == size * n and 1 in (size, n):
                jacobian = jacobian.reshape(size, n)
        if jacobian.shape != (size, n):
            raise WrongShapeError(
                f"`{self.call}`: the jac of {block.name!r} must have shape ({size}, {n}); "
                f"got {jacobian.shape}."
            )
        return jacobian

    @property
    def has_hessian(self) -> bool:
        """Whether every nonlinear function comes with its second derivative."""
        return callable(self.hess) and all(b.matrix is not None or b.hess is not None for b in self.blocks)

    def hessian(self, x: Array, weights: Sequence[Array]) -> Any:
        """The second derivative (n, n) of objective + weights·values, sparse where all of them are."""
        n = x.size
        parts = [square(f"`{self.call}(hess=...)`", self.hess(x.copy(), *self.args), n)]
        for block, part in zip(self.blocks, weights, strict=True):
            if block.matrix is None and block.hess is not None and part.any():
                hessian = block.hess(x.copy(), part.copy())
                parts.append(square(f"`{self.call}`: the hess of {block.name!r}", hessian, n))
        if not all(hasattr(part, "tocsr") for part in parts):
            parts = [part.toarray() if hasattr(part, "tocsr") else part for part in parts]
        return sum(parts[1:], start=parts[0])

    def _objective_alone(self, returned: Any, x: Array) -> Any:
        return self._number(returned[0] if self.both else returned, x)

    def _number(self, objective: Any, x: Array) -> Any:
        array = np.asarray(objective)
        if array.size != 1 or array.dtype.kind not in "fiubc":
            raise WrongShapeError(
                f"`{self.call}(fun=...)` must return one number; got {objective!r} of shape {array.shape}."
            )
        number = array.reshape(())
        if x.dtype.kind == "c":
            return number.astype(complex)[()]
        return real(f"`{self.call}(fun=...)`", number).astype(float)[()]

    def _block(self, index: int, returned: Any, x: Array) -> Array:
        block = self.blocks[index]
        values = np.atleast_1d(np.asarray(returned))
        if values.ndim != 1 or values.dtype.kind not in "fiubc":
            raise WrongShapeError(
                f"`{self.call}`: {block.name!r} must return a number or an array with one axis; "
                f"got shape {values.shape} of {values.dtype}."
            )
        if x.dtype.kind == "c":
            return values.astype(complex)
        return real(f"`{self.call}`: {block.name!r}", values).astype(float)

    def _checked_gradient(self, gradient: Any, n: int) -> Array:
        usual = usual_derivatives(gradient, (n,))
        if usual is not None:
            return usual
        array = floats(f"`{self.call}(jac=...)`", gradient).ravel()
        if array.size != n:
            raise WrongShapeError(
                f"`{self.call}(jac=...)` must return {n} derivatives; got shape {np.shape(gradient)}."
            )
        return array


@dataclass(frozen=True)
class Sample:
    """Some functions, or all, as one function of x whose failures are values: what a map is given."""

    functions: Functions
    which: tuple[int, ...] | None = None  #: None for all of them, with the gradient where it comes along

    @property
    def question(self) -> str:
        """What is asked, as a journal names it."""
        return "values" if self.which is None else "values of " + " ".join(map(str, self.which))

    @property
    def complete(self) -> bool:
        """Whether no function is left out."""
        return self.which is None or len(self.which) == 1 + len(self.functions.blocks)

    def __call__(self, x: Array) -> list[Array] | Failure:
        try:
            return (
                self.functions.all_values(x) if self.which is None else self.functions.values(self.which, x)
            )
        except Exception as error:
            return Failure(error)


def stack(parts: list[Any], n: int) -> Any:
    """One Jacobian (k, n) of all, sparse where one is."""
    if any(hasattr(part, "tocsr") for part in parts):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return stacked(parts, n)
