"""Objective and constraints at points: each asked for once, and differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..types import Array, Indices
from .calls import Calls
from .constraint import check_jac
from .differences import Differences
from .functions import OBJECTIVE, Functions, Sample, stack
from .remembered import Answer, Remembered
from .returned import WrongShapeError, floats
from .scipy_forms import Block, no_limits
from .steps import Steps

__all__ = ["Evaluation"]

EPS = float(np.finfo(float).eps)


class Evaluation(Remembered):
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
    strict : bool
        Whether NaN and infinity raise an exception.
    steps : Steps or None
        Steps of differences, where a block has none of its own; chosen here otherwise.
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
        strict: bool = False,
        steps: Steps | None = None,
    ) -> None:
        if not callable(fun):
            raise TypeError(f"`{call}(fun=...)` must be callable; got {fun!r}.")
        if not isinstance(jac, (bool, np.bool_)):
            check_jac(call, jac)
        self.call = call
        self.blocks = list(blocks)
        self.functions = Functions(
            call, fun, self.blocks, jac, hess, args if isinstance(args, tuple) else (args,)
        )
        self.bounds = bounds
        self.steps = steps
        self.calls = Calls(self.functions, forgiving, strict)
        self.sizes, self.njev = None, 0
        self.nhev = 0  #: points at which second derivatives were asked for
        self.last_noise: Array | None = None  #: see `Answer`, at the last point differenced
        self._scheme = "2-point"  # for functions whose differences are left to us
        self._points, self._pinned, self._n = {}, None, None
        self._typical: Array | float = 1.0
        self.spacing = EPS
        self._differences: Differences | None = None  # of the objective and all values, once they are needed

    @property
    def nfev(self) -> int:
        """Points at which the functions were called, those of differences included."""
        return self.calls.points

    @property
    def failures(self) -> int:
        """Points at which a function failed."""
        return self.calls.failures

    def values(self, x: Array) -> tuple[float, Array]:
        """Return the objective and the constraint values (k,) at x (n,)."""
        point = self.at(x)
        return point.objective, point.values

    def many(self, points: list[Array]) -> list[Array]:
        """Return objective and values (1 + k,) at several points (n,) at once, NaN where one failed."""
        failed = np.full(1 + sum(self.sizes or ()), np.nan)
        both = self.functions.both
        answers = self.calls.sample(self.calls.everything, points) if points else []
        return [
            failed if parts is None else np.concatenate(parts[:-1] if both else parts) for parts in answers
        ]

    def derivatives(self, x: Array) -> tuple[Array, Any]:
        """Return the gradient (n,) and the Jacobian (k, n), sparse where a block's is, at x."""
        point = self.differentiated(x)
        assert point.gradient is not None
        return point.gradient, point.jacobian

    def known(self, x: Array) -> float | None:
        """Return the objective at x if that was asked for not long ago."""
        point = self._points.get(x.tobytes())
        return None if point is None else point.objective

    def central(self, x: Array, chosen: list[int]) -> list[Array]:
        """Return central differences (k_i, n) of some functions at x, −1 for the objective."""
        point = self.at(x)
        apart = Answer(point.objective, point.values)  # so that nothing is remembered of it
        parts = self._differenced(x, apart, dict.fromkeys(chosen, "3-point"))
        return [parts[i] for i in chosen]

    def pin(self, x: Array) -> None:
        """Do not forget x until another point is pinned."""
        self._pinned = x.tobytes()

    @property
    def typical(self) -> Array | float:
        """Sizes (n,) that difference steps are relative to where |x| is less."""
        return self._typical

    @typical.setter
    def typical(self, sizes: Array | float) -> None:
        self._typical = sizes
        if self._differences is not None:
            self._differences.typical = sizes

    @property
    def forward(self) -> bool:
        """Whether forward differences with steps of ours are in use."""
        return self._differences is not None and self._scheme == "2-point" and self.steps is None

    def refine(self, x: Array) -> bool:
        """Difference by 3 points at x and from now on, where it is left to us; False if that is no better.

        Forward differences are cheap and err by about 1e-8 of the curvature: too much for the last digits of
        an ill-conditioned problem. Where a function fails at too many of the points that central ones need,
        everything stays as it was.
        """
        left_to_us = not self.functions.jac or any(not block.jac for block in self.blocks)
        if self._scheme == "3-point" or not left_to_us:
            return False
        self._scheme = "3-point"
        here = self.at(x)
        refined = Answer(here.objective, here.values, here.gradient if self.functions.both else None)
        self.njev += 1
        self._differentiate(x, refined, lower_order=False)
        if not (_finite(refined.gradient) and _finite(refined.jacobian)):
            self._scheme = "2-point"
            return False
        self._points = {x.tobytes(): refined}
        return True

    def hessian(self, x: Array, weights: Array) -> Any:
        """Return the second derivative of objective + weights·values, or None where it is not known.

        That is where one is not given, or where one raised an exception.
        """
        if not self.has_hessian:
            return None
        self.nhev += 1
        parts = self._split(weights)
        return self.calls.derivative("hessian", x, lambda: self.functions.hessian(x, parts), weights)

    @property
    def has_hessian(self) -> bool:
        """Whether every nonlinear function comes with its second derivative."""
        return self.functions.has_hessian

    def differenced(self, index: int) -> bool:
        """Whether x itself is moved to differentiate the function of a block, or the objective for −1."""
        jac = self.blocks[index].jac if index != OBJECTIVE else self.functions.both or self.functions.jac
        return not (callable(jac) or jac is True or jac == "cs")

    def steps_of(self, index: int) -> Steps | None:
        """The steps that the user set for the function of a block, or for the objective with −1."""
        own = None if index == OBJECTIVE else self.blocks[index].steps
        return self.steps if own is None else own

    def schemes(self) -> list[tuple[str, str | None]]:
        """Name of each function, the objective's first, and how it is differenced; None where it is not."""
        given: list[tuple[str, Any]] = [("objective", self.functions.both or self.functions.jac)]
        given += [(block.name, block.jac) for block in self.blocks]
        return [(name, None if callable(jac) or jac is True else jac or self._scheme) for name, jac in given]

    def population(self, x: Array) -> tuple[Array, Array]:
        """Return the objectives (S,) and values (k, S) at the columns of x (n, S), in one call each."""
        self._check_variables(len(x))
        returned = self.functions.fun(x.copy(), *self.functions.args)
        objectives = floats(f"`{self.call}(fun=...)`", returned)
        if objectives.shape != x.shape[1:]:
            raise ValueError(
                f"`{self.call}(fun=...)` with vectorized=True must return shape {x.shape[1:]} for x of shape "
                f"{x.shape}; got {objectives.shape}."
            )
        self.calls.points += x.shape[1]
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

    def _differentiate(self, x: Array, point: Answer, lower_order: bool = True) -> None:
        """Fill in gradient and Jacobian: those given, then all that are differenced, point by point.

        `lower_order` : whether forward differences may stand in for central ones where a function fails.
        """
        parts: dict[int, Any] = {} if point.gradient is None else {OBJECTIVE: point.gradient}
        schemes: dict[int, str] = {}
        for i in range(OBJECTIVE, len(self.blocks)):
            jac = self.functions.jac if i == OBJECTIVE else self.blocks[i].jac
            if i in parts:
                continue
            if not callable(jac):
                schemes[i] = jac or self._scheme
                continue
            parts[i] = self._given(i, x)
            if parts[i] is None:
                point.gradient, point.jacobian = self._no_derivatives(x.size)
                return
        parts.update(self._differenced(x, point, schemes, lower_order))
        point.gradient = parts[OBJECTIVE].ravel()
        point.jacobian = stack([parts[i] for i in range(len(self.blocks))], x.size)

    def _given(self, i: int, x: Array) -> Any:
        """Return the derivative of a function by its own `jac`, None where that failed."""
        if i == OBJECTIVE:
            return self.calls.derivative("gradient", x, lambda: self.functions.gradient(x))
        size = (self.sizes or [])[i]
        return self.calls.derivative(f"jacobian {i}", x, lambda: self.functions.jacobian(i, x, size))

    def _differenced(
        self, x: Array, point: Answer, schemes: dict[int, str], lower_order: bool = True
    ) -> dict[int, Array]:
        """Return the Jacobians (k_i, n) of functions by their schemes; those alike share their points."""
        alike: dict[tuple[str, int], list[int]] = {}  # scheme and whose steps → functions
        for i, scheme in schemes.items():
            alike.setdefault((scheme, id(self.steps_of(i))), []).append(i)
        parts: dict[int, Array] = {}
        for (scheme, _), chosen in alike.items():
            parts.update(zip(chosen, self._difference(x, point, scheme, chosen, lower_order), strict=True))
        return parts

    def _difference(
        self, x: Array, point: Answer, scheme: str, chosen: list[int], lower_order: bool = True
    ) -> list[Array]:
        """Return the Jacobians (k_i, n) of some functions; each point is evaluated once for all of them."""
        if self._differences is None:
            self._differences = Differences(1 + sum(self.sizes or []))
            self._differences.typical = self._typical
        if point.noise is None:
            point.noise = np.zeros(1 + point.values.size)
        split = self._split(point.values)
        # Linear functions cost nothing; with them the answer is complete and kept where that is asked for.
        linear = {i for i, block in enumerate(self.blocks) if block.matrix is not None}
        whole = self.calls.record is not None and scheme != "cs"
        whole = whole and {*chosen, *linear} >= set(range(OBJECTIVE, len(self.blocks)))
        sample = self.calls.everything if whole else Sample(self.functions, tuple(chosen))
        wanted = [i - OBJECTIVE for i in chosen] if whole else list(range(len(chosen)))
        here = np.concatenate([[point.objective] if i == OBJECTIVE else split[i] for i in chosen])
        failed = np.full(here.size, np.nan)

        def evaluate(points: list[Array]) -> Array:
            answers = self.calls.sample(sample, points) if points else []
            rows = [
                failed if parts is None else np.concatenate([parts[i] for i in wanted]) for parts in answers
            ]
            return np.array(rows).reshape(-1, here.size)

        which = self._positions(chosen)
        jacobian, noise = self._differences.jacobian(
            evaluate,
            x,
            here,
            which,
            scheme,
            self.bounds or no_limits(x.size),
            lower_order,
            self._steps_at(x, chosen[0]),
        )
        point.noise[which] = noise
        self.spacing = self._differences.precision.known
        self.last_noise = point.noise
        return np.split(jacobian, np.cumsum([1 if i == OBJECTIVE else split[i].size for i in chosen])[:-1])

    def _steps_at(self, x: Array, index: int) -> Array | None:
        steps = self.steps_of(index)
        return None if steps is None else steps.at(x, self._typical)

    def _positions(self, chosen: list[int]) -> Indices:
        """Return where the values of some functions stand among objective and values (1 + k,)."""
        ends = np.cumsum([1, *(self.sizes or [])])
        return np.concatenate([np.arange(ends[i] if i != OBJECTIVE else 0, ends[i + 1]) for i in chosen])

    def _check_variables(self, n: int) -> None:
        if self._n not in (None, n):
            raise ValueError(f"`{self.call}`: x has {n} variables, but had {self._n} before.")
        if self._n is None:
            self._check_steps(self.steps, n)
            for block in self.blocks:
                self._check_steps(block.steps, n)
                if block.matrix is not None and block.matrix.shape[1] != n:
                    raise ValueError(
                        f"`{self.call}(constraints=...)`: the matrix of {block.name!r} must have {n} columns "
                        f"for {n} variables; got shape {block.matrix.shape}."
                    )
        self._n = n

    def _check_steps(self, steps: Steps | None, n: int) -> None:
        if steps is not None and steps.size.shape not in ((), (n,)):
            name = "finite_diff_rel_step" if steps.relative else "eps"
            raise ValueError(
                f"`{self.call}({name}=...)` must be one step or one for each of the {n} variables; "
                f"got shape {steps.size.shape}."
            )

    def _check_sizes(self, sizes: list[int]) -> None:
        if self.sizes is None:
            self.sizes = sizes
            return
        for block, before, now in zip(self.blocks, self.sizes, sizes, strict=True):
            if before != now:
                raise WrongShapeError(
                    f"`{self.call}`: {block.name!r} returned {now} values, but {before} before."
                )

    def _split(self, values: Array) -> list[Array]:
        return np.split(values, np.cumsum(self.sizes or [0])[:-1]) if self.blocks else []


def _finite(array: Any) -> bool:
    return bool(np.isfinite(array.data if hasattr(array, "tocsr") else array).all())
