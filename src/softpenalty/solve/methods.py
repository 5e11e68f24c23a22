"""The methods of `minimize`, by name: each takes a problem, options and a watch, and returns an outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..problem.problem import Problem
from .noisy.look import Look, may_be_noisy
from .noisy.method import solve_noisy
from .options import Options
from .outcome import Outcome
from .penalty.fixed import solve_penalty
from .penalty.multiplier import solve_multiplier
from .sqp.method import solve_sqp
from .status import Status
from .watch import Watch

__all__ = ["METHODS", "Method"]


def solve_default(problem: Problem, options: Options, watch: Watch) -> Outcome:
    """The dense method; where its differences show nothing but noise, the one for noisy functions.

    A smooth problem hardly pays for it: the noise is looked at once, where a step must be very short.
    """
    if options.noise is not None or not may_be_noisy(problem):
        return solve_sqp(problem, options, watch)
    look = Look(problem)
    outcome = solve_sqp(problem, options, watch, look)
    if outcome.status is not Status.NOISY:
        return outcome
    return solve_noisy(problem, replace(options, noise=look.levels), watch, outcome.iterations)


Method = Callable[[Problem, Options, Watch], Outcome]

METHODS: dict[str, Method] = {
    "sqp": solve_default,
    "penalty": solve_penalty,
    "multiplier": solve_multiplier,
    "noisy": solve_noisy,
}
