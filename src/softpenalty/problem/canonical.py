"""The constraints as rows: one sided comparison of one value each, stacked once.

A two-sided constraint gives two rows that share one value. The variables themselves count as values behind
those of the constraint functions, so that bounds are rows like any other where a method wants them so.
"""

from __future__ import annotations

import math
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
        return np.bincount(self.source, multipliers, size).astype(float, copy=False)


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
    counts = [len(part.index) for part in parts]
    return Rows(
        source=np.array([part.start + i for part in parts for i in part.index], dtype=int),
        target=np.array([target for part in parts for target in part.targets], dtype=float),
        sign=np.array(_repeated([part.sign for part in parts], counts), dtype=float),
        equality=np.array(_repeated([part.operator == "=" for part in parts], counts), dtype=bool),
        labels=[label for part in parts for label in part.labels()],
        names=_repeated([part.block.name for part in parts], counts),
        sigma=_own(call, "sigma", parts, sum(counts)),
        alpha=_own(call, "alpha", parts, sum(counts)),
    )


@dataclass(slots=True)
class _Part:
    """The rows of one block, whose `size` values begin at `start`, that make the same comparison."""

    block: Block
    size: int
    start: int
    operator: str
    sign: float
    index: Sequence[int]  # within the block
    targets: Sequence[float]

    def labels(self) -> list[str]:
        """Name, index and comparison of each."""
        name = self.block.name
        if self.size == 1 and name != "x":
            return [f"{name} {self.operator} {target:.6g}" for target in self.targets]
        pairs = zip(self.index, self.targets, strict=True)
        return [f"{name}[{i}] {self.operator} {target:.6g}" for i, target in pairs]


def _parts_of(call: str, block: Block, size: int, start: int) -> list[_Part]:
    """Return the equality, upper and lower rows of one block."""
    low = _fit(call, block.name, "target", block.lower, size)
    high = _fit(call, block.name, "target", block.upper, size)
    equal = [i for i in range(size) if low[i] == high[i]]
    above = [i for i in range(size) if low[i] < high[i] < math.inf]
    below = [i for i in range(size) if -math.inf < low[i] < high[i]]
    kinds = (("=", equal, high, 1.0), ("<", above, high, 1.0), (">", below, low, -1.0))
    return [
        _Part(block, size, start, operator, sign, index, [target[i] for i in index])
        for operator, index, target, sign in kinds
        if index
    ]


def _own(call: str, what: str, parts: list[_Part], m: int) -> Array:
    """Return the blocks' own sigma or alpha for each of m rows, NaN where they have none."""
    own = np.full(m, np.nan)
    start = 0
    for part in parts:
        value, end = getattr(part.block, what), start + len(part.index)
        if value is not None:
            own[start:end] = np.array(_fit(call, part.block.name, what, value, part.size))[part.index]
        start = end
    return own


def _repeated(entries: list[Any], counts: list[int]) -> list[Any]:
    return [entry for entry, count in zip(entries, counts, strict=True) for _ in range(count)]


def _fit(call: str, name: str, what: str, value: Any, size: int) -> list[float]:
    """Return `value`, one number or (size,), as a list of `size` numbers."""
    array = np.asarray(value, dtype=float)
    if array.ndim == 0 or array.shape == (1,):
        return [float(array.item())] * size
    if array.shape == (size,):
        fitted: list[float] = array.tolist()
        return fitted
    raise ValueError(
        f"`{call}`: the {what} of {name!r} has shape {np.shape(value)}, which does not fit the "
        f"{size} value(s) that its function returned."
    )
