"""What a solver hands back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Answer:
    """A point and what the solver says about it; it is not asked for an objective or a violation."""

    x: np.ndarray
    success: bool
    message: str
    iterations: int | None = None
