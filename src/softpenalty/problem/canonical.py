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

from ..core import compiled
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
    floor: Array  #: (m,) −1 for an equality, 0 for an inequality: max(r, floor·r) is |r| or max(r, 0)
    parts: Sequence[_Part]  #: where they come from

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
        return [label for part in self.parts for label in part.labels()]

    @cached_property
    def operators(self) -> list[str]:
        """(m,) the comparison alone."""
        return [part.operator for part in self.parts for _ in part.index]

    @cached_property
    def sigma(self) -> Array:
        """(m,) NaN where the constraint has none of its own."""
        return np.array([entry for part in self.parts for entry in part.own("sigma")], dtype=float)

    @cached_property
    def alpha(self) -> Array:
        """(m,) likewise."""
        return np.array([entry for part in self.parts for entry in part.own("alpha")], dtype=float)

    def signed_violations(self, errors: Array) -> Array:
        """Return the errors where the row is broken, 0 elsewhere."""
        broken = self.residuals(errors) > 0.0
        equality = self.equality if errors.ndim == 1 else self.equality[:, None]
        return np.where(broken | equality | np.isnan(errors), errors, 0.0)

    def pull_back(self, multipliers: Array, size: int) -> Array:
        """Return, for each of `size` values, the sum of the multipliers of its rows."""
        return gathered(self.source, multipliers, size)


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
    parts: list[_Part] = []
    start = 0
    for block, size in zip(blocks, sizes, strict=True):
        parts += _parts_of(call, block, size, start)
        start += size
    if bounds is not None:
        variables = Block("x", lambda x: x, *bounds)
        parts += _parts_of(call, variables, bounds[0].size, start, numbered=True)
    sides = [(part.sign, part.operator == "=") for part in parts for _ in part.index]
    return Rows(
        source=np.array([part.start + i for part in parts for i in part.index], dtype=int),
        target=np.array([target for part in parts for target in part.targets], dtype=float),
        sign=np.array([sign for sign, _ in sides], dtype=float),
        equality=np.array([equal for _, equal in sides], dtype=bool),
        floor=np.array([-1.0 if equal else 0.0 for _, equal in sides]),
        parts=parts,
    )


@dataclass(slots=True)
class _Part:
    """The rows of one block, whose values begin at `start`, that make the same comparison."""

    block: Block
    start: int
    operator: str
    sign: float
    index: Sequence[int]  # within the block
    targets: Sequence[float]
    sigma: Sequence[float] | None  # of the block's values, where it has its own
    alpha: Sequence[float] | None  # likewise
    numbered: bool  # whether labels have an index

    def own(self, what: str) -> list[float]:
        """Sigma or alpha of each row, NaN where there is none."""
        values = getattr(self, what)
        return [math.nan if values is None else values[i] for i in self.index]

    def labels(self) -> list[str]:
        """Name, index and comparison of each."""
        name = self.block.name
        if not self.numbered:
            return [f"{name} {self.operator} {target:.6g}" for target in self.targets]
        pairs = zip(self.index, self.targets, strict=True)
        return [f"{name}[{i}] {self.operator} {target:.6g}" for i, target in pairs]


def _parts_of(call: str, block: Block, size: int, start: int, numbered: bool = False) -> list[_Part]:
    """Return the equality, upper and lower rows of one block; `numbered` even where it has one value."""
    low = _fit(call, block.name, "target", block.lower, size)
    high = _fit(call, block.name, "target", block.upper, size)
    sigma = None if block.sigma is None else _fit(call, block.name, "sigma", block.sigma, size)
    alpha = None if block.alpha is None else _fit(call, block.name, "alpha", block.alpha, size)
    equal = [i for i in range(size) if low[i] == high[i]]
    above = [i for i in range(size) if low[i] < high[i] < math.inf]
    below = [i for i in range(size) if -math.inf < low[i] < high[i]]
    numbered = numbered or size > 1
    kinds = (("=", equal, high, 1.0), ("<", above, high, 1.0), (">", below, low, -1.0))
    return [
        _Part(block, start, operator, sign, index, [target[i] for i in index], sigma, alpha, numbered)
        for operator, index, target, sign in kinds
        if index
    ]


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
