"""The penalty QP of one iteration: a warm start first, then from nowhere, elastic rows last.

Where the linearized rows can be met, the penalty QP with a large enough weight has the same solution as
the QP with hard rows, which is cheaper. So the hard one is tried first: from the last active set, then by the
dual active set, or by PIQP where it is large or rounding leaves the answer open. Only where there is no
solution the rows become elastic with weight ``nu``, which is raised as long as that makes the linearized
violation fall (steering).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import piqp

from ....core import compiled
from ....types import Array, Indices, Mask
from ...norms import largest
from ..curvature.compact import CompactMatrix
from ..curvature.limited import LimitedMatrix
from ..curvature.source import Matrix
from .active_set import SYSTEMS, TOLERANCES, guessed_step, solve_from_guess
from .compact import solve_compact
from .correction import correct
from .dual import solve_dual
from .path import solve_path
from .qp import ABOVE, BELOW, CORNER, QP, QPSolution, States, Step, boxes, stepped

__all__ = ["Step", "Subproblem"]

LIBRARY_TOLERANCE = 1e-9  # asked of PIQP; the active set it finds is then solved exactly
POLISH_SYSTEMS = 4  # linear systems for that
LIBRARY_INFINITY = 1e19  # PIQP writes a warning beyond about this
SMALL = 150  # variables up to which the dual active set is faster than PIQP, however many bounds are active
STEERING_GROWTH = 30.0  # factor on the weight where the linearized rows are not met
STEERING_TRIALS = 6
STEERING_FALL = 0.9  # a larger weight is kept when the linearized violation falls below this share
LARGEST_DENSE = 2000  # variables up to which a matrix is made dense where its structure did not help
LINEAR_TOLERANCE = 1e-9  # linearized violation that counts as none


@compiled
def hard_rows(equality: Mask, n: int) -> tuple[States, Array, Array]:
    """States (m + n,) to begin with, only equalities in their corner, and the multipliers' boxes (m,)."""
    states: States = np.zeros(equality.size + n, dtype=np.int8)
    states[: equality.size][~equality] = BELOW
    return states, np.where(equality, -np.inf, 0.0), np.full(equality.size, np.inf)


class Subproblem:
    """Solves the QPs of one problem one after another, each starting from the last active set.

    Parameters
    ----------
    equality : (m,) which rows are equalities
    n : number of variables
    nu : weight of the elastic rows, in units of objective per length of a step
    deadline : reading of the clock at which an elastic solve is given up
    """

    def __init__(self, equality: Mask, n: int, nu: float, deadline: float = np.inf) -> None:
        self.equality = equality
        self.nu, self.deadline = nu, deadline
        self.n, self.m = n, equality.size
        self._states, self._low, self._high = hard_rows(equality, n)

    @cached_property
    def _floor(self) -> Array:
        return np.where(self.equality, -1.0, 0.0)

    @cached_property
    def _by_kind(self) -> tuple[Indices, Indices]:
        return np.flatnonzero(self.equality), np.flatnonzero(~self.equality)

    def solve(self, g: Array, B: Matrix, a: Array, b: Array, lower: Array, upper: Array) -> Step | None:
        """Step and multipliers; None when even the elastic problem breaks down numerically."""
        low, high = boxes(self._low, self._high, lower, upper)
        if isinstance(B, CompactMatrix):
            if isinstance(B, LimitedMatrix):
                d = B.step(g, lower, upper, self._states)
                if d is not None:
                    return Step(d, b, np.zeros(self.n), self.equality, True)
            solution = solve_compact(g, B, a, b, low, high, self._states)
            if solution is not None:
                self._states = solution.states
                return stepped(solution, self.equality, True)
            if self.n > LARGEST_DENSE:
                return None
            B = B.dense()
        qp = QP(g, B, a, b, low, high)
        found = guessed_step(qp, self._states, self.equality, SYSTEMS, *TOLERANCES)
        if found is not None:
            step, self._states = found
            return step
        solution = self._from_nowhere(qp)
        if solution is not None:
            self._states = solution.states
            return stepped(solution, self.equality, True)
        return self._steered(qp)

    def solve_elastic(self, qp: QP, nu: float | Array) -> QPSolution | None:
        """The QP with every multiplier of a row limited to ``nu``, one number or (m,)."""
        low, high = qp.low.copy(), qp.high.copy()
        high[: self.m] = nu
        low[: self.m] = nu * self._floor
        elastic = QP(qp.g, qp.B, qp.a, qp.b, low, high)
        solution = solve_path(elastic, self.deadline)
        if solution is None:
            return None
        return solve_from_guess(elastic, solution.states, POLISH_SYSTEMS) or solution

    def _steered(self, qp: QP) -> Step | None:
        """The elastic solution with the weight raised while that lowers the linearized violation."""

        def violation(solution: QPSolution) -> float:
            errors = qp.a @ solution.d + qp.b
            return float(np.maximum(errors, self._floor * errors).sum())

        solution = self.solve_elastic(qp, self.nu)
        if solution is None:
            return None
        left = violation(solution)
        enough = LINEAR_TOLERANCE * max(1.0, float(np.abs(qp.b).sum()))
        for _ in range(STEERING_TRIALS):
            if left <= enough:
                break
            harder = self.solve_elastic(qp, self.nu * STEERING_GROWTH)
            if harder is None or violation(harder) > STEERING_FALL * left:
                break
            self.nu *= STEERING_GROWTH
            solution, left = harder, violation(harder)
        # The next hard QP starts from what is in its corner now or was meant to be.
        self._states = solution.states.copy()
        rows = self._states[: self.m]
        rows[self.equality | (rows == ABOVE)] = CORNER
        return stepped(solution, self.equality, left <= enough)

    def _from_nowhere(self, qp: QP) -> QPSolution | None:
        """The hard QP without a guess; None when it has no solution or none is reached."""
        if self.n <= SMALL:
            solution, certain = solve_dual(qp)
            if certain:
                return solution
        return self._library(qp)

    def _library(self, qp: QP) -> QPSolution | None:
        """The hard QP by PIQP, polished; None when it has no solution or PIQP does not reach it."""
        (equal, unequal), m = self._by_kind, self.m
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = LIBRARY_TOLERANCE
        solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = LIBRARY_TOLERANCE
        # A gradient of size one makes the absolute tolerances relative.
        size = largest(qp.g) or largest(qp.B.diagonal()) or 1.0
        rows: dict[str, Array] = {}
        if equal.size:
            rows["A"], rows["b"] = np.asfortranarray(qp.a[equal]), -qp.b[equal]
        if unequal.size:
            rows["G"] = np.asfortranarray(qp.a[unequal])
            rows["h_u"] = np.clip(-qp.b[unequal], -LIBRARY_INFINITY, LIBRARY_INFINITY)
        bounds = {"x_l": qp.low[m:], "x_u": qp.high[m:]}
        solver.setup(np.asfortranarray(qp.B / size), qp.g / size, **rows, **bounds)
        if solver.solve() != piqp.PIQP_SOLVED:
            return None
        result = solver.result
        y, states = np.zeros(m), np.zeros(m + self.n, dtype=np.int8)
        y[equal] = result.y
        if unequal.size:
            binding = result.z_u > result.s_u
            y[unequal[binding]] = result.z_u[binding]
            states[unequal[~binding]] = BELOW
        at_lower = np.isfinite(qp.low[m:]) & (result.z_bl > result.s_bl)
        at_upper = np.isfinite(qp.high[m:]) & (result.z_bu > result.s_bu)
        states[m:][at_lower] = BELOW
        states[m:][at_upper] = ABOVE
        exact = solve_from_guess(qp, states, POLISH_SYSTEMS)
        if exact is not None:
            return exact
        d = np.clip(result.x, qp.low[m:], qp.high[m:])
        z = np.where(at_upper, result.z_bu, 0.0) - np.where(at_lower, result.z_bl, 0.0)
        if not np.isfinite(d).all():
            return None
        return correct(qp, QPSolution(d, y * size, z * size, states))
