"""A look at whether functions that are differenced are noisy, where that is in doubt."""

from __future__ import annotations

from ...problem.functions import OBJECTIVE
from ...problem.problem import Problem
from ...types import Array
from .level import measured_levels

__all__ = ["MOST_VARIABLES", "Look", "may_be_noisy"]

MOST_VARIABLES = 30  # beyond it the models of noisy functions need more points than anybody has
NOISY = 1e-11  # relative noise from which on differences over the usual steps lose half their digits


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
        self.levels = measured_levels(self.problem)
        return bool((self.levels > NOISY).any())
