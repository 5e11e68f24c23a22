"""The multiplier method: the penalty method repeated with sigma balanced at the multipliers."""

from __future__ import annotations

import numpy as np

from ...problem.problem import Problem
from ..options import Options
from ..outcome import Outcome
from ..watch import Watch
from .rounds import First, Rounds, run_rounds

__all__ = ["solve_multiplier"]

# The accuracy is that of "sqp": the balance costs little more.
FIRST = First("algebraic", corner=1e-2, accuracy=1e-8, kept=False)
FALL = 0.25  # error or force of a row must fall by this factor a round, else it is enforced harder
HARDER = 4.0  # factor on an equality's sigma, divisor of an inequality's alpha
FADE = 0.1  # sigma does not fall below this share of the last one: a constraint may become active again
SHARPEST = 10.0  # times the accepted error: at sharper corners rounding shows in the multipliers


def solve_multiplier(problem: Problem, options: Options, watch: Watch) -> Outcome:
    """Repeat the penalty method with sigma = balance(multipliers) after each solve.

    At the balance the penalty leaves no error, whatever alpha is. An equality keeps its sigma and has both
    slopes shifted by its multiplier. Kernels that are flat at the target have no balance: their sigma grows.
    What sigma and alpha the user gives are those of the first round.
    """
    run = Rounds(problem, options, watch, FIRST)
    return run_rounds(run, _Balance(run))


class _Balance:
    """Sigma, shift and alpha of the next round from the multipliers of this one."""

    def __init__(self, run: Rounds) -> None:
        self.errors = self.forces = np.full(len(run.rows), np.inf)
        kernel = run.penalty.kernel
        self.balances = kernel.has_width and float(kernel.slope(0.0, 1.0)) > 0.0

    def __call__(self, run: Rounds) -> bool:
        penalty, equality = run.penalty, run.rows.equality
        multipliers, sigma, alpha = penalty.multipliers(run.x), penalty.sigma, penalty.alpha
        errors, forces = np.abs(penalty.errors(run.x)), run.forces()
        # A row is settled when its error or its force has gone; one of them must be on the way.
        slow = run.unsettled() & (errors > FALL * self.errors) & (equality | (forces > FALL * self.forces))
        self.errors, self.forces = errors, forces
        balanced = np.maximum(np.asarray(penalty.combination.balance(multipliers, alpha)), FADE * sigma)
        held = np.where(slow, HARDER, 1.0) * np.maximum(sigma, 2.0 * np.abs(multipliers))
        sharper = np.maximum(alpha / HARDER, np.minimum(alpha, SHARPEST * run.allowed()))
        run.replace(
            np.where(equality | (not self.balances), held, balanced),
            np.where(slow & ~equality, sharper, alpha),
            np.where(equality, multipliers, 0.0),
        )
        return True
