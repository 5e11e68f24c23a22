"""A look at whether functions that are differenced are noisy, where that is in doubt."""

from __future__ import annotations

import numpy as np

from ...problem.functions import OBJECTIVE
from ...problem.problem import Problem
from ...types import Array
from .level import measured_levels

__all__ = ["MOST_VARIABLES", "Look", "may_be_noisy"]

MOST_VARIABLES = 30  # beyond it the models of noisy functions need more points than anybody has
NOISY = 1e-11  # relative noise from which on differences over the usual steps lose half their digits
SPACINGS = (1e-5, 1e-7)  # of two lines that must show the same noise: a function that only bends does not
ALIKE = 10.0  # factor between the two


def may_be_noisy(problem: Problem) -> bool:
    """Whether every derivative is left to differences, so that noise would show in them."""
    evaluation = problem.evaluation
    left = evaluation.differenced(OBJECTIVE) and all(
        block.matrix is not None or evaluation.differenced(i) for i, block in enumerate(evaluation.blocks)
    )
    return left and int((problem.lower < problem.upper).sum()) <= MOST_VARIABLES


class Look:
    """Measures the noise at the start when it is called; `levels` (1 + k,) are then relative ones."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.levels: Array | None = None

    def __call__(self) -> bool:
        wide = measured_levels(self.problem, SPACINGS[:1])
        if not (wide > NOISY).any():
            return False
        narrow = measured_levels(self.problem, SPACINGS[1:])
        self.levels = np.minimum(wide, narrow)
        return bool(((wide > NOISY) & (narrow > wide / ALIKE)).any())
