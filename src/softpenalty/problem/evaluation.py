"""The user's functions, called once per point, counted, checked and differentiated.

What they return is copied at once: many of them use one array again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..types import Array, Indices
from .constraint import check_jac
from .differences import relative_step, stencils
from .precision import Precision
from .returned import WrongShapeError, floats, real, square
from .scipy_forms import Block

__all__ = ["Evaluation"]

REMEMBERED_POINTS = 4  # enough for a line search that goes back to an earlier trial

Map = Callable[[Callable[[Array], Array], Iterable[Array]], Iterable[Array]]

PROBES = np.array([1e-5, 1e-3])  # relative steps to look again with where differences are exactly zero

# Mistakes in the user's program, never a simulation that failed at some point: always passed on.
MISTAKES = (TypeError, NameError, AttributeError, AssertionError, ImportError, SyntaxError, MemoryError)


@dataclass
class _Point:
    objective: float
    values: Array  # (k,)
    gradient: Array | None = None  # (n,)
    jacobian: Any = None  # (k, n)
    noise: Array | None = None  # (1 + k,) error that rounding leaves in differences, 0 without them


class Evaluation:
    """Objective and constraint values with their derivatives.

    Parameters
    ----------
    call : str
        The public function in whose name errors are raised.
    fun : callable
        ``fun(x, *args)`` returns the objective, with ``jac=True`` the pair (objective, gradient).
    blocks : sequence of Block
        The constraint functions.
    jac : callable, bool, str or None
        Gradient of the objective, or how to difference it ("2-point" for None).
    hess : callable or None
        ``hess(x, *args)``, second derivative of the objective.
    args : tuple
        More arguments of `fun`, `jac` and `hess`.
    bounds : pair of arrays (n,) or None
        Limits that differences do not cross.
    forgiving : bool
        Whether an exception raised by the user's functions counts as a failed point, with values NaN.
    """

    def __init__(
        self,
        call: str,
        fun: Callable[..., Any],
        blocks: Sequence[Block],
        *,
        jac: Any = None,
        hess: Any = None,
        args: tuple[Any, ...] = (),
        bounds: tuple[Array, Array] | None = None,
        forgiving: bool = False,
    ) -> None:
        if not callable(fun):
            raise TypeError(f"`{call}(fun=...)` must be callable; got {fun!r}.")
        if not isinstance(jac, (bool, np.bool_)):
            check_jac(call, jac)
        self.call = call
        self.blocks = list(blocks)
        self.args = args if isinstance(args, tuple) else (args,)
        self.bounds = bounds
        self.typical: Array | float = (
            1.0  #: sizes (n,) that difference steps are relative to where |x| is less
        )
        self.forgiving = forgiving
        self.map: Map = map  #: applies a function to all points of a difference stencil at once
        self.sizes: list[int] | None = None  #: how many values each block has, known after the first call
        self.nfev = 0  #: points at which the functions were called, those of differences included
        self.njev = 0  #: points at which derivatives were asked for
        self.nhev = 0  #: points at which second derivatives were asked for
        self.failures = 0  #: points at which a function raised an exception
        self.last_failure: Exception | None = None
        self.last_noise: Array | None = None  #: see `noise`, at the last point differenced
        self._fun, self._jac, self._hess = fun, jac, hess
        self._scheme = "2-point"  # for functions whose differences are left to us
        self._both = jac is True or (isinstance(jac, np.bool_) and bool(jac))
        self._points: dict[bytes, _Point] = {}
        self._n: int | None = None
        self._precision: Precision | None = None  # of the objective and all values, once they are differenced

    def values(self, x: Array) -> tuple[float, Array]:
        """Return the objective and the constraint values (k,) at x (n,)."""
        point = self._at(x)
        return point.objective, point.values

    def derivatives(self, x: Array) -> tuple[Array, Any]:
        """Return the gradient (n,) and the Jacobian (k, n), sparse where a block's is, at x."""
        point = self._at(x)
        if point.jacobian is None:
            self.njev += 1
            self._differentiate(x, point)
        assert point.gradient is not None
        return point.gradient, point.jacobian

    def noise(self, x: Array) -> Array | None:
        """Return what rounding leaves in differences of objective and values, (1 + k,), None without them.

        It is the error of the derivative with respect to a variable of size 1.
        """
        return self._at(x).noise

    @property
    def spacing(self) -> Array | float:
        """Relative spacing of the numbers that objective and constraints return, (1 + k,), as far as seen."""
        return float(np.finfo(float).eps) if self._precision is None else self._precision.known

    def refine(self, x: Array) -> bool:
        """Difference by 3 points at x and from now on, where it is left to us; False if that is no better.

        Forward differences are cheap and err by about 1e-8 of the curvature: too much for the last digits of
        an ill-conditioned problem. Where a function fails at one of the points that central ones need,
        everything stays as it was.
        """
        left_to_us = not (self._both or self._jac) or any(not block.jac for block in self.blocks)
        if self._scheme == "3-point" or not left_to_us:
            return False
        self._scheme = "3-point"
        here = self._at(x)
        refined = _Point(here.objective, here.values, here.gradient if self._both else None)
        self.njev += 1
        self._differentiate(x, refined)
        if not (_finite(refined.gradient) and _finite(refined.jacobian)):
            self._scheme = "2-point"
            return False
        self._points = {x.tobytes(): refined}
        return True

    def hessian(self, x: Array, weights: Array) -> Array | None:
        """Return the second derivative of objective + weights·values, or None where it is not known.

        That is where one is not given, or where one raised an exception.
        """
        if not self.has_hessian:
            return None
        self.nhev += 1
        try:
            hessian = self._hess(x.copy(), *self.args)
            total = square(f"`{self.call}(hess=...)`", hessian, x.size)
            for block, part in zip(self.blocks, self._split(weights), strict=True):
                if block.matrix is None and block.hess is not None and part.any():
                    hessian = block.hess(x.copy(), part.copy())
                    total += square(f"`{self.call}`: the hess of {block.name!r}", hessian, x.size)
        except Exception as failure:
            self._forgive(failure)
            return None
        return total

    @property
    def has_hessian(self) -> bool:
        """Whether every nonlinear function comes with its second derivative."""
        return callable(self._hess) and all(b.matrix is not None or b.hess is not None for b in self.blocks)

    def differenced(self, index: int) -> bool:
        """Whether x itself is moved to differentiate the function of a block, or the objective for −1."""
        jac = self.blocks[index].jac if index >= 0 else self._both or self._jac
        return not (callable(jac) or jac is True or jac == "cs")

    def schemes(self) -> list[tuple[str, str | None]]:
        """Name of each function, the objective's first, and how it is differenced; None where it is not."""
        given: list[tuple[str, Any]] = [("objective", True if self._both else self._jac)]
        given += [(block.name, block.jac) for block in self.blocks]
        return [(name, None if callable(jac) or jac is True else jac or self._scheme) for name, jac in given]

    def population(self, x: Array) -> tuple[Array, Array]:
        """Return the objectives (S,) and values (k, S) at the columns of x (n, S), in one call each."""
        self._check_variables(len(x))
        objectives = floats(f"`{self.call}(fun=...)`", self._fun(x.copy(), *self.args))
        if objectives.shape != x.shape[1:]:
            raise ValueError(
                f"`{self.call}(fun=...)` with vectorized=True must return shape {x.shape[1:]} for x of shape "
                f"{x.shape}; got {objectives.shape}."
            )
        self.nfev += x.shape[1]
        parts = []
        for block in self.blocks:
            values = floats(f"`{self.call}`: {block.name!r}", block.fun(x.copy()))
            values = values[None] if values.ndim == 1 else values
            if values.ndim != 2 or values.shape[1:] != x.shape[1:]:
                raise ValueError(
                    f"`{self.call}`: {block.name!r} must return shape (k, {x.shape[1]}) for x of shape "
                    f"{x.shape} with vectorized=True; got {values.shape}."
                )
            parts.append(values)
        self._check_sizes([len(part) for part in parts])
        return objectives, np.concatenate([np.zeros((0, x.shape[1])), *parts])

    def _at(self, x: Array) -> _Point:
        key = x.tobytes()
        if key in self._points:
            return self._points[key]
        self._check_variables(x.size)
        try:
            objective, gradient = self._objective(x)
            parts = [self._values_of(block, x) for block in self.blocks]
        except Exception as failure:
            self._forgive(failure)
            objective, gradient = np.nan, None
            parts = [np.full(size, np.nan) for size in self.sizes or ()]
        else:
            self._check_sizes([part.size for part in parts])
        self.nfev += 1
        point = _Point(objective, np.concatenate([np.zeros(0), *parts]), gradient)
        while len(self._points) >= REMEMBERED_POINTS:
            del self._points[next(iter(self._points))]
        self._points[key] = point
        return point

    def _differentiate(self, x: Array, point: _Point) -> None:
        """Fill in gradient and Jacobian: those given, then all that are differenced, point by point."""
        n = x.size
        parts: list[Any] = [None] * len(self.blocks)
        wanted: dict[str, list[int]] = {}  # scheme → blocks, −1 for the objective
        try:
            if point.gradient is None:
                if callable(self._jac):
                    point.gradient = self._checked_gradient(self._jac(x.copy(), *self.args), n)
                else:
                    wanted.setdefault(self._jac or self._scheme, []).append(-1)
            for i, block in enumerate(self.blocks):
                if callable(block.jac):
                    parts[i] = self._checked_jacobian(block.jac(x.copy()), i, n)
                else:
                    wanted.setdefault(block.jac or self._scheme, []).append(i)
            for scheme, functions in wanted.items():
                for i, columns in zip(functions, self._difference(x, point, scheme, functions), strict=True):
                    if i < 0:
                        point.gradient = columns[0]
                    else:
                        parts[i] = columns
        except Exception as failure:
            self._forgive(failure)
            point.gradient = np.full(n, np.nan)
            parts = [np.full((size, n), np.nan) for size in self.sizes or ()]
        point.jacobian = _stack(parts, n)

    def _difference(self, x: Array, point: _Point, scheme: str, functions: list[int]) -> list[Array]:
        """Return the Jacobians (k_i, n) of some of the functions; each point is evaluated once for all."""

        def stacked(points: list[Array]) -> list[Array]:
            self.nfev += len(points)
            return list(self.map(partial(self._stacked, functions), points))

        if self._precision is None:
            self._precision = Precision(1 + sum(self.sizes or []))
        if point.noise is None:
            point.noise = np.zeros(1 + point.values.size)
        split = self._split(point.values)
        here = np.concatenate([[point.objective] if i < 0 else split[i] for i in functions])
        which, known, central = self._positions(functions), self._precision, scheme == "3-point"
        lower, upper = self.bounds or (np.full(x.size, -np.inf), np.full(x.size, np.inf))
        precision = known.required(which, here, central=central)
        for _ in range(2):  # once more where the first differences show that the steps were too small
            columns = stencils(x, scheme, lower, upper, precision, self.typical)
            values = stacked([at for stencil in columns for at in stencil.points])
            if scheme == "cs":
                break
            nearby = np.array(values).reshape(-1, here.size)
            flat = known.learn(which, here, nearby)
            if flat.size and columns:
                probes = np.full((PROBES.size, here.size), np.nan)
                for probe, step in zip(probes, PROBES, strict=True):
                    try:
                        probe[:] = stacked([_probe(x, step, lower, upper)])[0]
                    except Exception as failure:  # so far from here it may be undefined
                        self._forgive(failure)
                known.learn_flat(which[flat], here[flat], probes[:, flat], PROBES)
            needed = known.required(which, here, central=central)
            if needed <= precision:
                break
            precision = needed
        jacobian = np.zeros((here.size, x.size))
        remaining = iter(values)
        for stencil in columns:
            jacobian[:, stencil.column] = stencil.combine(here, [next(remaining) for _ in stencil.points])
        if scheme != "cs":
            known.saw(which, jacobian, x)
            size = np.abs(np.vstack([here, nearby])).max(axis=0)
            point.noise[which] = known.known[which] * size / relative_step(scheme, precision)
            self.last_noise = point.noise
        return np.split(jacobian, np.cumsum([1 if i < 0 else split[i].size for i in functions])[:-1])

    def _stacked(self, functions: list[int], at: Array) -> Array:
        """Return the values of some functions at one point, the objective's first."""
        return np.concatenate(
            [
                np.atleast_1d(self._call(at)) if i < 0 else self._values_of(self.blocks[i], at)
                for i in functions
            ]
        )

    def _positions(self, functions: list[int]) -> Indices:
        """Return where the values of some functions stand among objective and values (1 + k,)."""
        ends = np.cumsum([1, *(self.sizes or [])])
        return np.concatenate([np.arange(ends[i] if i >= 0 else 0, ends[i + 1]) for i in functions])

    def _objective(self, x: Array) -> tuple[float, Array | None]:
        if not self._both:
            return float(self._call(x)), None
        returned = self._fun(x.copy(), *self.args)
        try:
            objective, gradient = returned
        except (TypeError, ValueError) as mistake:
            raise WrongShapeError(
                f"`{self.call}(jac=True)`: `fun` must return the objective and its gradient: {mistake}; "
                f"got {returned!r}."
            ) from mistake
        return float(self._number(objective, x)), self._checked_gradient(gradient, x.size)

    def _call(self, x: Array) -> Any:
        """Return the objective alone, complex for complex x."""
        result = self._fun(x.copy(), *self.args)
        return self._number(result[0] if self._both else result, x)

    def _number(self, objective: Any, x: Array) -> Any:
        array = np.asarray(objective)
        if array.size != 1 or array.dtype.kind not in "fiubc":
            raise WrongShapeError(
                f"`{self.call}(fun=...)` must return one number; got {objective!r} of shape {array.shape}."
            )
        number = array.reshape(())
        return number[()] if x.dtype.kind == "c" else real(f"`{self.call}(fun=...)`", number)[()]

    def _values_of(self, block: Block, x: Array) -> Array:
        values = np.atleast_1d(np.asarray(block.fun(x.copy())))
        if values.ndim != 1 or values.dtype.kind not in "fiubc":
            raise WrongShapeError(
                f"`{self.call}`: {block.name!r} must return a number or an array with one axis; "
                f"got shape {values.shape} of {values.dtype}."
            )
        if x.dtype.kind == "c":
            return values.astype(complex)
        return real(f"`{self.call}`: {block.name!r}", values).astype(float)

    def _checked_gradient(self, gradient: Any, n: int) -> Array:
        array = floats(f"`{self.call}(jac=...)`", gradient).ravel()
        if array.size != n:
            raise WrongShapeError(
                f"`{self.call}(jac=...)` must return {n} derivatives; got shape {np.shape(gradient)}."
            )
        return array

    def _checked_jacobian(self, jacobian: Any, index: int, n: int) -> Any:
        assert self.sizes is not None
        name, size = self.blocks[index].name, self.sizes[index]
        if self.blocks[index].matrix is not None:
            return jacobian
        if hasattr(jacobian, "tocsr"):
            jacobian = jacobian.copy()
        else:
            jacobian = floats(f"`{self.call}`: the jac of {name!r}", jacobian)
            if jacobian.shape != (size, n) and jacobian.size == size * n and 1 in (size, n):
                jacobian = jacobian.reshape(size, n)
        if jacobian.shape != (size, n):
            raise WrongShapeError(
                f"`{self.call}`: the jac of {name!r} must have shape ({size}, {n}); got {jacobian.shape}."
            )
        return jacobian

    def _check_variables(self, n: int) -> None:
        if self._n not in (None, n):
            raise ValueError(f"`{self.call}`: x has {n} variables, but had {self._n} before.")
        if self._n is None:
            for block in self.blocks:
                if block.matrix is not None and block.matrix.shape[1] != n:
                    raise ValueError(
                        f"`{self.call}(constraints=...)`: the matrix of {block.name!r} must have {n} columns "
                        f"for {n} variables; got shape {block.matrix.shape}."
                    )
        self._n = n

    def _check_sizes(self, sizes: list[int]) -> None:
        if self.sizes is None:
            self.sizes = sizes
        for block, before, now in zip(self.blocks, self.sizes, sizes, strict=True):
            if before != now:
                raise WrongShapeError(
                    f"`{self.call}`: {block.name!r} returned {now} values, but {before} before."
                )

    def _split(self, values: Array) -> list[Array]:
        return np.split(values, np.cumsum(self.sizes or [0])[:-1]) if self.blocks else []

    def _forgive(self, failure: Exception) -> None:
        """Count the failure of a point, or pass it on."""
        if not self.forgiving or isinstance(failure, (*MISTAKES, WrongShapeError)):
            raise failure
        self.failures += 1
        self.last_failure = failure


def _probe(x: Array, step: float, lower: Array, upper: Array) -> Array:
    """A point with every variable moved by about ``step``, relative to max(1, |x|), inside the limits."""
    size = step * np.maximum(1.0, np.abs(x))
    ahead, back = np.minimum(x + size, upper), np.maximum(x - size, lower)
    return np.where(ahead - x >= x - back, ahead, back)


def _finite(array: Any) -> bool:
    return bool(np.isfinite(array.data if hasattr(array, "tocsr") else array).all())


def _stack(parts: list[Any], n: int) -> Any:
    if any(hasattr(part, "tocsr") for part in parts):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.concatenate([np.zeros((0, n)), *parts])
