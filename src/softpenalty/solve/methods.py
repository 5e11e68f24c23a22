"""The methods of `minimize`, by name: each takes a problem, options and a watch, and returns an outcome."""

from __future__ import annotations

from collections.abc import Callable

from ..problem.problem import Problem
from .noisy.method import solve_noisy
from .options import Options
from .outcome import Outcome
from .penalty.fixed import solve_penalty
from .penalty.multiplier import solve_multiplier
from .sqp.method import solve_sqp
from .watch import Watch

__all__ = ["METHODS", "Method"]

Method = Callable[[Problem, Options, Watch], Outcome]

METHODS: dict[str, Method] = {
    "sqp": solve_sqp,
    "noisy": solve_noisy,
    "penalty": solve_penalty,
    "multiplier": solve_multiplier,
}
