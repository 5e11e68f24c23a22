"""The penalty method: one smooth penalty, sharpened until it leaves no more error than is accepted."""

from __future__ import annotations

import numpy as np

from ...problem.problem import Problem
from ..options import Options
from ..outcome import Outcome
from ..watch import Watch
from .rounds import STRONGER, First, Rounds, run_rounds

__all__ = ["solve_penalty"]

# A soft start; sharper corners than this accuracy needs hinder BFGS.
FIRST = First("softplus", corner=0.1, accuracy=1e-6, kept=True)
SHARPER = 10.0  # alpha is divided by at most this a round: BFGS follows
MARGIN = 0.5  # share of the accepted error that the next corner is to leave
SHARPEST = 1e-3  # relative to the accepted error: a sharper corner gains nothing


def solve_penalty(problem: Problem, options: Options, watch: Watch) -> Outcome:
    """Minimize objective + penalty.

    What sigma and alpha the user gives are kept: one solve, which leaves the error that they imply.
    Otherwise it starts soft, makes sigma larger where a multiplier has reached it, and alpha smaller until
    the error is the one asked for, to either side of the target.
    """
    run = Rounds(problem, options, watch, FIRST)
    return run_rounds(run, _sharpen)


def _sharpen(run: Rounds) -> bool:
    """Make the corners sharper; without one, sigma larger."""
    penalty, allowed, off = run.penalty, run.allowed(), run.unsettled()
    errors = np.maximum(np.abs(penalty.errors(run.x)), allowed)
    sharper = np.maximum(MARGIN * allowed / errors, 1.0 / SHARPER) * penalty.alpha
    sharper = np.maximum(sharper, np.minimum(penalty.alpha, SHARPEST * allowed))
    stronger = penalty.sigma * (1.0 if penalty.kernel.saturates else STRONGER)
    run.replace(np.where(off, stronger, penalty.sigma), np.where(off, sharper, penalty.alpha))
    changed: bool = ((run.penalty.alpha != penalty.alpha) | (run.penalty.sigma != penalty.sigma)).any()
    return changed
