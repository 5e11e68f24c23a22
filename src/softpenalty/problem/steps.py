"""Difference steps that the user sets, with SciPy's names and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..types import Array
from .constraint import numbers

__all__ = ["Steps", "read_steps"]


@dataclass(frozen=True)
class Steps:
    """Steps relative to |x|, or absolute ones; () or (n,)."""

    size: Array
    relative: bool

    def at(self, x: Array, typical: Array | float) -> Array:
        """Return the steps (n,) at x; where |x| is too small to step relative to, `typical` stands for it."""
        if not self.relative:
            return np.broadcast_to(self.size, x.shape)
        steps = self.size * np.abs(x)
        return np.where(x + steps == x, self.size * typical, steps)


def read_steps(call: str, finite_diff_rel_step: Any, eps: Any = None) -> Steps | None:
    """Return the steps that were set, None where none were; relative ones go before absolute ones."""
    for name, value in (("finite_diff_rel_step", finite_diff_rel_step), ("eps", eps)):
        if value is not None:
            size = numbers(call, name, value)
            if not ((size > 0.0) & np.isfinite(size)).all():
                raise ValueError(f"`{call}({name}=...)` must be positive and finite; got {value!r}.")
            return Steps(size, name == "finite_diff_rel_step")
    return None
