"""Counting evaluations, the same for every method, and ending a run that has nothing more to show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softpenalty import Constraint

from .problem import Array, SearchProblem


class Over(BaseException):  # not an Exception: no solver may take it for a failed point
    """The best value is reached, or the budget spent."""


class Counted:
    """A problem whose evaluations are counted, a point once for all its functions.

    Parameters
    ----------
    problem : what is solved
    budget : points that may be evaluated
    until_reached : whether the run ends where the best value is reached
    """

    def __init__(self, problem: SearchProblem, budget: float, until_reached: bool = True) -> None:
        self.problem, self.budget, self.until_reached = problem, budget, until_reached
        self.nfev = 0
        self.hit: int | None = None  #: evaluations at which the best value was reached
        self._states: dict[bytes, tuple[float, Array, Array]] = {}

    def state(self, x: Array) -> tuple[float, Array, Array]:
        """Objective, inequalities and equalities at x."""
        x = np.array(x, dtype=float)
        key = x.tobytes()
        if key not in self._states:
            if self.nfev >= self.budget:
                raise Over
            self.nfev += 1
            with np.errstate(all="ignore"):
                f, g, h = self.problem.state(x)
                self._states[key] = float(f), np.array(g, dtype=float), np.array(h, dtype=float)
                reached = self.problem.reached(*self.problem.measure(x))
            if reached and self.hit is None:
                self.hit = self.nfev
                if self.until_reached:
                    raise Over
        return self._states[key]

    def fun(self, x: Array) -> float:
        """Objective."""
        return self.state(x)[0]

    def inequalities(self, x: Array) -> Array:
        """To be ≤ 0."""
        return self.state(x)[1]

    def equalities(self, x: Array) -> Array:
        """To be 0."""
        return self.state(x)[2]

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Pairs (low, high)."""
        return [(float(low), float(high)) for low, high in self.problem.bounds]

    def constraints(self) -> list[Constraint]:
        """As `softpenalty` takes them."""
        inequalities, equalities = self.problem.sizes
        first = [Constraint(self.inequalities, "<", 0.0, name="g")] if inequalities else []
        return first + ([Constraint(self.equalities, "=", 0.0, name="h")] if equalities else [])

    def dicts(self) -> Sequence[dict]:
        """As SciPy's SLSQP takes them."""
        inequalities, equalities = self.problem.sizes
        first = [{"type": "ineq", "fun": lambda x: -self.inequalities(x)}] if inequalities else []
        return first + ([{"type": "eq", "fun": self.equalities}] if equalities else [])
