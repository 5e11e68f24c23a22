"""The problem as the models show it at the centre, and its linear part, which needs none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...problem.problem import Problem
from ...types import Array, Indices
from ..sqp.state import Local
from .fit import Models

__all__ = ["Linearized", "View", "linear_parts"]


@dataclass(slots=True)
class Linearized:
    """What `weigh` reads of a point: gradient (n,) and length (m,) of the rows."""

    g: Array
    length: Array


@dataclass(slots=True)
class View:
    """The fitted problem at the centre: models, noise (functions,) and the rows they make."""

    models: Models
    noise: Array
    linear: Linearized
    local: Local


def linear_parts(problem: Problem, free: Indices, size: Array) -> tuple[Array, Array]:
    """Values (functions,) at u = 0 and Jacobian (functions, n) of what is linear, 0 for the rest."""
    functions = 1 + sum(problem.sizes)
    values, jacobian = np.zeros(functions), np.zeros((functions, free.size))
    begin = 1
    for block, count in zip(problem.evaluation.blocks, problem.sizes, strict=True):
        if block.matrix is not None:
            matrix = block.matrix.toarray() if hasattr(block.matrix, "toarray") else np.asarray(block.matrix)
            rest = problem.start.copy()
            rest[free] = 0.0
            values[begin : begin + count] = matrix @ rest
            jacobian[begin : begin + count] = matrix[:, free] * size
        begin += count
    return values, jacobian
