"""The constraints as rows: one sided comparison of one value each, stacked once.

A two-sided constraint gives two rows that share one value. The variables themselves count as values behind
those of the constraint functions, so that bounds are rows like any other where a method wants them so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..types import Array, Indices, Mask
from .scipy_forms import Block

__all__ = ["Rows", "stack_rows"]


@dataclass(frozen=True)
class Rows:
    """m comparisons of values (k,) with targets; error = value − target, residual = sign·error."""

    source: Indices  #: (m,) which value
    target: Array  #: (m,)
    sign: Array  #: (m,) +1 for < and =, −1 for >: the residual is to be ≤ 0 (= 0)
    equality: Mask  #: (m,) bool
    labels: list[str]  #: (m,) name, index and comparison, for reports
    names: list[str]  #: (m,) name of the constraint the row comes from
    sigma: Array  #: (m,) NaN where the constraint has none of its own
    alpha: Array  #: (m,) likewise

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
        violations: Array = np.maximum(residuals, floor * residuals)
        return violations

    @cached_property
    def floor(self) -> Array:
        """(m,) −1 for an equality, 0 for an inequality: max(r, floor·r) is |r| or max(r, 0)."""
        return np.where(self.equality, -1.0, 0.0)

    def signed_violations(self, errors: Array) -> Array:
        """Return the errors where the row is broken, 0 elsewhere."""
        broken = self.residuals(errors) > 0.0
        equality = self.equality if errors.ndim == 1 else self.equality[:, None]
        return np.where(broken | equality | np.isnan(errors), errors, 0.0)

    def pull_back(self, multipliers: Array, size: int) -> Array:
        """Return, for each of `size` values, the sum of the multipliers of its rows."""
        return np.bincount(self.source, multipliers, size)


def stack_rows(
    call: str,
    blocks: Sequence[Block],
    sizes: Sequence[int],
    bounds: tuple[Array, Array] | None = None,
) -> Rows:
    """Return the rows of `blocks`, whose functions return `sizes` values, and of `bounds` where given."""
    parts: list[_Part] = []
    start = 0
    for block, size in zip(blocks, sizes, strict=True):
        parts += _parts_of(call, block, size, start)
        start += size
    if bounds is not None:
        variables = Block("x", lambda x: x, *bounds)
        parts += _parts_of(call, variables, bounds[0].size, start)
    return Rows(
        source=_joined([part.source for part in parts], int),
        target=_joined([part.target for part in parts], float),
        sign=np.repeat([part.sign for part in parts], [part.source.size for part in parts]),
        equality=np.repeat([part.operator == "=" for part in parts], [part.source.size for part in parts]),
        labels=[label for part in parts for label in part.labels()],
        names=[part.block.name for part in parts for _ in range(part.source.size)],
        sigma=_joined([part.own(call, "sigma") for part in parts], float),
        alpha=_joined([part.own(call, "alpha") for part in parts], float),
    )


@dataclass(slots=True)
class _Part:
    """The rows of one block, which has `size` values, that make the same comparison."""

    block: Block
    size: int
    operator: str
    sign: float
    index: Indices  # within the block
    source: Indices
    target: Array

    def labels(self) -> list[str]:
        """Name, index and comparison of each."""
        name, single = self.block.name, self.size == 1 and self.block.name != "x"
        return [
            f"{name if single else f'{name}[{i}]'} {self.operator} {target:.6g}"
            for i, target in zip(self.index.tolist(), self.target.tolist(), strict=True)
        ]

    def own(self, call: str, what: str) -> Array:
        """The block's own sigma or alpha for each, NaN without."""
        value = getattr(self.block, what)
        if value is None:
            return np.full(self.index.size, np.nan)
        return _fit(call, self.block.name, what, value, self.size)[self.index]


def _parts_of(call: str, block: Block, size: int, start: int) -> list[_Part]:
    """Return the equality, upper and lower rows of one block."""
    if block.lower.ndim == block.upper.ndim == 0:  # the same comparison for all
        low, high = float(block.lower), float(block.upper)
        every = np.arange(size)
        of_all = (("=", low == high, high, 1.0), ("<", low < high < np.inf, high, 1.0), (">", -np.inf < low < high, low, -1.0))
        return [
            _Part(block, size, operator, sign, every, start + every, np.full(size, target))
            for operator, chosen, target, sign in of_all
            if chosen
        ]
    lower, upper = (_fit(call, block.name, "target", limit, size) for limit in (block.lower, block.upper))
    equal = lower == upper
    kinds = (
        ("=", equal, upper, 1.0),
        ("<", ~equal & np.isfinite(upper), upper, 1.0),
        (">", ~equal & np.isfinite(lower), lower, -1.0),
    )
    found = [(operator, np.flatnonzero(chosen), target, sign) for operator, chosen, target, sign in kinds]
    return [
        _Part(block, size, operator, sign, index, start + index, target[index])
        for operator, index, target, sign in found
        if index.size
    ]


def _joined(arrays: list[Any], dtype: Any) -> Any:
    """One array of all."""
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.zeros(0, dtype), *arrays])


def _fit(call: str, name: str, what: str, value: Any, size: int) -> Array:
    try:
        return np.broadcast_to(np.asarray(value, dtype=float), (size,))
    except ValueError:
        raise ValueError(
            f"`{call}`: the {what} of {name!r} has shape {np.shape(value)}, which does not fit the "
            f"{size} value(s) that its function returned."
        ) from None
