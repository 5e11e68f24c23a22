"""The constraints as rows: one sided comparison of one value each, stacked once.

A two-sided constraint gives two rows that share one value. The variables themselves count as values behind
those of the constraint functions, so that bounds are rows like any other where a method wants them so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core import compiled
from ..types import Array, Indices, Mask
from .scipy_forms import Block

__all__ = ["Rows", "stack_rows"]


@dataclass
class Rows:
    """m comparisons of values (k,) with targets; error = value − target, residual = sign·error."""

    source: Indices  #: (m,) which value
    target: Array  #: (m,)
    sign: Array  #: (m,) +1 for < and =, −1 for >: the residual is to be ≤ 0 (= 0)
    equality: Mask  #: (m,) bool
    floor: Array  #: (m,) −1 for an equality, 0 for an inequality: max(r, floor·r) is |r| or max(r, 0)
    blocks: Sequence[Block]  #: whose functions return the values
    sizes: Sequence[int]  #: how many each of them does

    def __len__(self) -> int:
        return len(self.source)

    def errors(self, values: Array) -> Array:
        """Return value − target, signed, (m,) or (m, S) for values (k,) or (k, S)."""
        target = self.target if values.ndim == 1 else self.target[:, None]
        return values[self.source] - target

    def residuals(self, errors: Array) -> Array:
        """Return the errors with the sign that makes every inequality ≤ 0."""
        return errors * (self.sign if errors.ndim == 1 else self.sign[:, None])

    def violations(self, errors: Array) -> Array:
        """Return how far each row is broken, ≥ 0."""
        return self.broken(self.residuals(errors))

    def broken(self, residuals: Array) -> Array:
        """Return how far each row is broken, ≥ 0, from residuals in any unit."""
        floor = self.floor if residuals.ndim == 1 else self.floor[:, None]
        return np.maximum(residuals, floor * residuals) + 0.0  # no −0

    @cached_property
    def labels(self) -> list[str]:
        """(m,) name, index and comparison, for reports."""
        values = [
            block.name if size == 1 else f"{block.name}[{i}]"
            for block, size in zip(self.blocks, self.sizes, strict=True)
            for i in range(size)
        ]
        rows = zip(self.source.tolist(), self.operators, self.target.tolist(), strict=True)
        return [f"{values[i]} {operator} {target:.6g}" for i, operator, target in rows]

    @cached_property
    def operators(self) -> list[str]:
        """(m,) the comparison alone."""
        sides = zip(self.equality.tolist(), self.sign.tolist(), strict=True)
        return ["=" if equal else "<" if sign > 0.0 else ">" for equal, sign in sides]

    @cached_property
    def sigma(self) -> Array:
        """(m,) NaN where the constraint has none of its own."""
        return self._own([block.sigma for block in self.blocks])

    @cached_property
    def alpha(self) -> Array:
        """(m,) likewise."""
        return self._own([block.alpha for block in self.blocks])

    def _own(self, of_blocks: Sequence[Array | None]) -> Array:
        """What each block has, None for nothing, as an entry a row."""
        entries = [
            np.broadcast_to(np.nan if own is None else own, size)
            for own, size in zip(of_blocks, self.sizes, strict=True)
        ]
        return np.concatenate([np.zeros(0), *entries])[self.source]

    def signed_violations(self, errors: Array) -> Array:
        """Return the errors where the row is broken, 0 elsewhere."""
        broken = self.residuals(errors) > 0.0
        equality = self.equality if errors.ndim == 1 else self.equality[:, None]
        return np.where(broken | equality | np.isnan(errors), errors, 0.0)

    def pull_back(self, multipliers: Array, size: int) -> Array:
        """Return, for each of `size` values, the sum of the multipliers of its rows."""
        return gathered(self.source, multipliers, size)

    def user_view(self, values: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return errors (m,) and multipliers (m,) with the user's signs, and these summed by value (k,)."""
        return user_view(values, y, self.source, self.target, self.sign)


@compiled
def user_view(
    values: Array, y: Array, source: Indices, target: Array, sign: Array
) -> tuple[Array, Array, Array]:
    """Errors (m,), multipliers (m,) and their sums by value (k,); y (m,) are those of the residuals."""
    multipliers = y * sign
    return values[source] - target, multipliers, gathered(source, multipliers, values.size)


@compiled
def gathered(source: Indices, entries: Array, size: int) -> Array:
    """The sum of the entries (m,) at each of `size` places, ``source`` (m,) being theirs."""
    return np.bincount(source, entries, size).astype(float, copy=False)


def stack_rows(
    call: str,
    blocks: Sequence[Block],
    sizes: Sequence[int],
    bounds: tuple[Array, Array] | None = None,
) -> Rows:
    """Return the rows of `blocks`, whose functions return `sizes` values, and of `bounds` where given."""
    if bounds is not None:
        n = bounds[0].size
        blocks, sizes = [*blocks, Block("x" if n > 1 else "x[0]", np.asarray, *bounds)], [*sizes, n]
    for block, size in zip(blocks, sizes, strict=True):
        _check_fit(call, block, size)
    return Rows(*compared(blocks, sizes), blocks, sizes)


@compiled
def compared(blocks: Sequence[Block], sizes: Sequence[int]) -> tuple[Indices, Array, Array, Mask, Array]:
    """Source, target, sign, equality and floor (m,) of the rows.

    They come block by block: equalities, upper limits, lower limits.
    """
    rows, start = [], 0
    for block, size in zip(blocks, sizes, strict=True):
        low, high = np.broadcast_to(block.lower, size), np.broadcast_to(block.upper, size)
        above, below = (low < high) & (high < np.inf), (low < high) & (low > -np.inf)
        kinds = (low == high, high, 1, -1), (above, high, 1, 0), (below, low, -1, 0)
        for chosen, target, sign, floor in kinds:
            rows += [(start + i, target[i], sign, floor) for i in chosen.nonzero()[0].tolist()]
        start += size
    source, targets, signs, floors = np.array(rows, dtype=float).reshape(-1, 4).T.copy()
    return source.astype(int), targets, signs, floors < 0.0, floors


def _check_fit(call: str, block: Block, size: int) -> None:
    """Raise ValueError unless all arrays of a block are one number or (size,)."""
    limits = ("target", block.lower), ("target", block.upper)
    for what, array in (*limits, ("sigma", block.sigma), ("alpha", block.alpha)):
        if array is not None and array.shape not in ((), (1,), (size,)):
            raise ValueError(
                f"`{call}`: the {what} of {block.name!r} has shape {array.shape}, which does not fit the "
                f"{size} value(s) that its function returned."
            )
