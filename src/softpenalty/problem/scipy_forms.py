"""Every form in which constraints and bounds may be given, turned into one: a list of blocks.

A block is one function of the user's with a lower and an upper limit on each of its values. The conversion
happens once, at the border; everything inside works on blocks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import compiled
from ..types import Array
from .constraint import Constraint, check_jac, check_name, numbers
from .steps import Steps, read_steps

__all__ = [
    "Block", "keeps_feasible", "no_limits", "read_bounds", "read_constraints", "warn_not_kept", "with_args",
]  # fmt: skip


ZERO = np.zeros(())
UPPER_LIMITS = {"eq": ZERO, "ineq": np.array(np.inf)}  # of the types of dicts, whose lower limit is 0


@dataclass(slots=True)
class Block:
    """lower ≤ fun(x) ≤ upper, for the k values that `fun` returns."""

    name: str
    fun: Callable[..., Any]
    lower: Array  #: () or (k,), −inf where free
    upper: Array  #: () or (k,), +inf where free; equal to lower for equalities
    jac: Callable[..., Any] | str | None = None
    hess: Callable[..., Any] | None = None
    matrix: Any = None  #: (k, n) where fun(x) = matrix @ x, dense or sparse
    sigma: Array | None = None  #: () or (k,)
    alpha: Array | None = None  #: () or (k,)
    steps: Steps | None = None  #: of differences, where it has its own


def read_constraints(call: str, constraints: Any) -> list[Block]:
    """Return the blocks of one constraint or a sequence of them.

    Accepted are `softpenalty.Constraint`, SciPy's `LinearConstraint`, `NonlinearConstraint` and `Bounds`,
    and the dicts ``{"type": "eq" | "ineq", "fun": ..., "jac": ..., "args": ...}``, in any mixture. What has
    an attribute or a key `name` goes by it.
    """
    if constraints is None:
        return []
    usual = isinstance(constraints, (list, tuple))
    single = not usual and (isinstance(constraints, (Constraint, Mapping)) or hasattr(constraints, "lb"))
    if not (usual or single or isinstance(constraints, Iterable)):
        raise TypeError(
            f"`{call}(constraints=...)` must be a constraint or a sequence of them; got {constraints!r}."
        )
    listed = [constraints] if single else list(constraints)
    blocks: dict[str, Block] = {}
    for i, constraint in enumerate(listed):
        block = _read(call, constraint, f"constraint {i}")
        if block.name in blocks:
            raise ValueError(
                f"`{call}(constraints=...)` must have different names; got {block.name!r} twice."
            )
        if keeps_feasible(constraint):
            warn_not_kept(f"`{call}(constraints=...)`: keep_feasible=True of {block.name!r}", stacklevel=4)
        blocks[block.name] = block
    return list(blocks.values())


def keeps_feasible(constraint: Any) -> bool:
    """Return whether SciPy's object asks to be met at every point of the way."""
    asked = getattr(constraint, "keep_feasible", False)
    return asked is not False and bool(np.any(asked))


def warn_not_kept(what: str, stacklevel: int) -> None:
    """Warn that `what` is asked for in vain."""
    from scipy.optimize import OptimizeWarning

    warnings.warn(
        f"{what} is not honoured: functions are called where it is violated too. Only the `bounds` of "
        "`minimize` are kept at every point.",
        OptimizeWarning,
        stacklevel=stacklevel,
    )


def read_bounds(call: str, bounds: Any, n: int | None = None) -> tuple[Array, Array] | None:
    """Return lower and upper limits of the variables, (n,) where n is given, or None without bounds.

    `bounds` is SciPy's `Bounds` or a sequence of (low, high) pairs with None for no limit.
    """
    if bounds is None:
        return None
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        limits = usual_limits(bounds.lb, bounds.ub, n)
        if limits is not None:
            return limits
        lower, upper = numbers(call, "bounds", bounds.lb), numbers(call, "bounds", bounds.ub)
        if n is not None:
            try:
                lower, upper = np.broadcast_to(lower, n).copy(), np.broadcast_to(upper, n).copy()
            except ValueError:
                raise ValueError(
                    f"`{call}(bounds=...)` must fit the {n} variables; "
                    f"got limits of shapes {lower.shape} and {upper.shape}."
                ) from None
    else:
        try:
            pairs = [(_limit(low, -np.inf), _limit(high, np.inf)) for low, high in bounds]
        except (TypeError, ValueError):
            raise TypeError(
                f"`{call}(bounds=...)` must be scipy.optimize.Bounds or a sequence of (low, high); "
                f"got {bounds!r}."
            ) from None
        if n not in (None, len(pairs)):
            raise ValueError(
                f"`{call}(bounds=...)` must have a pair (low, high) for each of the {n} variables; "
                f"got {len(pairs)}. For the same limits on all, use scipy.optimize.Bounds(low, high)."
            )
        lower, upper = (numbers(call, "bounds", [pair[side] for pair in pairs]) for side in (0, 1))
    _check_order(call, "bounds", lower, upper)
    return lower, upper


def no_limits(shape: int | tuple[int, ...]) -> tuple[Array, Array]:
    """Return lower and upper limits that limit nothing."""
    lower, upper = np.empty(shape), np.empty(shape)
    lower.fill(-np.inf)
    upper.fill(np.inf)
    return lower, upper


def _limit(value: Any, missing: float) -> Any:
    """Return one limit of a pair: `missing` for None, the number in an array of size 1."""
    if value is None:
        return missing
    return value.item() if isinstance(value, np.ndarray) else value


def _read(call: str, constraint: Any, name: str) -> Block:
    if isinstance(constraint, Constraint):
        target = numbers("Constraint", "target", constraint.target)
        lower, upper = no_limits(target.shape)
        return Block(
            name=constraint.name or name,
            fun=constraint.fun,
            lower=lower if constraint.operator == "<" else target,
            upper=upper if constraint.operator == ">" else target,
            jac=constraint.jac,
            hess=constraint.hess,
            sigma=None if constraint.sigma is None else numbers("Constraint", "sigma", constraint.sigma),
            alpha=None if constraint.alpha is None else numbers("Constraint", "alpha", constraint.alpha),
        )
    keyed = isinstance(constraint, (dict, Mapping))
    own = constraint.get("name") if keyed else getattr(constraint, "name", None)
    if own is not None:
        check_name(f"`{call}(constraints=...)`: the name of a constraint", own)
        name = own
    if keyed:
        return _read_dict(call, constraint, name)
    if hasattr(constraint, "lb") and hasattr(constraint, "ub"):
        lower, upper = (
            numbers(call, "constraints", constraint.lb),
            numbers(call, "constraints", constraint.ub),
        )
        _check_order(call, "constraints", lower, upper)
        if hasattr(constraint, "A"):
            return _read_linear(call, constraint.A, lower, upper, name)
        if hasattr(constraint, "fun"):
            jac, hess = constraint.jac, constraint.hess
            check_jac(call, jac)
            steps = read_steps(call, getattr(constraint, "finite_diff_rel_step", None))
            known = hess if callable(hess) else None
            return Block(name, constraint.fun, lower, upper, jac, known, steps=steps)
        return Block(name, _identity, lower, upper, _identity_jac)
    raise TypeError(
        f"`{call}(constraints=...)` takes softpenalty.Constraint, SciPy's LinearConstraint, "
        f"NonlinearConstraint or Bounds, or a dict; got {constraint!r}."
    )


def _read_dict(call: str, constraint: Mapping[str, Any], name: str) -> Block:
    kind, fun = constraint.get("type"), constraint.get("fun")
    upper = UPPER_LIMITS.get(kind.lower()) if isinstance(kind, str) else None
    if upper is None:
        raise ValueError(f"`{call}(constraints=...)`: a dict's 'type' must be 'eq' or 'ineq'; got {kind!r}.")
    if not callable(fun):
        raise TypeError(f"`{call}(constraints=...)`: a dict's 'fun' must be callable; got {fun!r}.")
    jac = constraint.get("jac")
    check_jac(call, jac)
    args = constraint.get("args", ())
    if not isinstance(args, tuple):
        args = tuple(args) if isinstance(args, Sequence) and not isinstance(args, str) else (args,)
    return Block(name, with_args(fun, args), ZERO, upper, with_args(jac, args) if callable(jac) else jac)


def _read_linear(call: str, matrix: Any, lower: Array, upper: Array, name: str) -> Block:
    if not hasattr(matrix, "tocsr"):
        try:
            matrix = np.atleast_2d(np.asarray(matrix, dtype=float))
        except (TypeError, ValueError, OverflowError):
            raise TypeError(
                f"`{call}(constraints=...)`: LinearConstraint.A must be numbers; got {matrix!r}."
            ) from None
        if np.isnan(matrix).any():
            raise ValueError(
                f"`{call}(constraints=...)`: LinearConstraint.A must not contain NaN; got {matrix!r}."
            )
    return Block(name, _Product(matrix), lower, upper, _Constant(matrix), matrix=matrix)


# Classes rather than lambdas: what holds a block can be sent to another process.
@dataclass(frozen=True)
class _WithArgs:
    fun: Callable[..., Any]
    args: tuple[Any, ...]

    def __call__(self, x: Array) -> Any:
        return self.fun(x, *self.args)


@dataclass(frozen=True)
class _Product:
    matrix: Any

    def __call__(self, x: Array) -> Any:
        return self.matrix @ x


@dataclass(frozen=True)
class _Constant:
    matrix: Any

    def __call__(self, x: Array) -> Any:
        return self.matrix


def with_args(fun: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """Return `fun` as a function of x alone."""
    return _WithArgs(fun, args) if args else fun


def _identity(x: Array) -> Array:
    return x


def _identity_jac(x: Array) -> Array:
    return np.eye(x.size)


def _check_order(call: str, argument: str, lower: Array, upper: Array) -> None:
    if ordered(lower, upper):
        return
    if (lower > upper).any() or (lower == np.inf).any() or (upper == -np.inf).any():
        raise ValueError(
            f"`{call}({argument}=...)` must have every lower limit at or below its upper limit; "
            f"got {lower.tolist()} and {upper.tolist()}."
        )


@compiled
def usual_limits(lower: Any, upper: Any, n: int | None) -> tuple[Array, Array] | None:
    """Copies of two arrays of floats (n,) that are limits in order; None for anything else."""
    usual = all(type(a) is np.ndarray and a.dtype == float and a.shape == (n,) for a in (lower, upper))
    return (lower.copy(), upper.copy()) if usual and ordered(lower, upper) else None


@compiled
def ordered(lower: Array, upper: Array) -> bool:
    """Whether every lower limit (n,) is at or below its upper one, none is +inf and no upper one −inf."""
    return lower.shape == upper.shape and bool(
        ((lower <= upper) & (lower < np.inf) & (upper > -np.inf)).all()
    )
