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
        total = np.zeros(size)
        np.add.at(total, self.source, multipliers)
        return total


def stack_rows(
    call: str,
    blocks: Sequence[Block],
    sizes: Sequence[int],
    bounds: tuple[Array, Array] | None = None,
) -> Rows:
    """Return the rows of `blocks`, whose functions return `sizes` values, and of `bounds` where given."""
    parts: list[dict[str, Any]] = []
    start = 0
    for block, size in zip(blocks, sizes, strict=True):
        parts += _rows_of(call, block, size, start)
        start += size
    if bounds is not None:
        variables = Block("x", lambda x: x, *bounds)
        parts += _rows_of(call, variables, bounds[0].size, start)

    def column(key: str, dtype: Any) -> Any:
        return np.concatenate([np.zeros(0, dtype), *(part[key] for part in parts)]).astype(dtype)

    return Rows(
        source=column("source", int),
        target=column("target", float),
        sign=column("sign", float),
        equality=column("equality", bool),
        labels=[label for part in parts for label in part["labels"]],
        names=[name for part in parts for name in part["names"]],
        sigma=column("sigma", float),
        alpha=column("alpha", float),
    )


def _rows_of(call: str, block: Block, size: int, start: int) -> list[dict[str, Any]]:
    """Return the equality, upper and lower rows of one block."""
    lower, upper, sigma, alpha = (
        _fit(call, block.name, what, limit, size)
        for what, limit in (
            ("target", block.lower),
            ("target", block.upper),
            ("sigma", np.nan if block.sigma is None else block.sigma),
            ("alpha", np.nan if block.alpha is None else block.alpha),
        )
    )
    equal = lower == upper
    kinds = (
        ("=", equal, upper, 1.0),
        ("<", ~equal & np.isfinite(upper), upper, 1.0),
        (">", ~equal & np.isfinite(lower), lower, -1.0),
    )
    rows = []
    for operator, chosen, target, sign in kinds:
        index = np.flatnonzero(chosen)
        single = size == 1 and block.name != "x"
        rows.append(
            {
                "source": start + index,
                "target": target[index],
                "sign": np.full(index.size, sign),
                "equality": np.full(index.size, operator == "="),
                "labels": [
                    f"{block.name if single else f'{block.name}[{i}]'} {operator} {target[i]:.6g}"
                    for i in index
                ],
                "names": [block.name] * index.size,
                "sigma": sigma[index],
                "alpha": alpha[index],
            }
        )
    return rows


def _fit(call: str, name: str, what: str, value: Any, size: int) -> Array:
    try:
        return np.broadcast_to(np.asarray(value, dtype=float), (size,))
    except ValueError:
        raise ValueError(
            f"`{call}`: the {what} of {name!r} has shape {np.shape(value)}, which does not fit the "
            f"{size} value(s) that its function returned."
        ) from None
