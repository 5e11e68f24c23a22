"""IPOPT from the CasADi wheel, fed with our functions instead of CasADi's symbols."""

from __future__ import annotations

from collections.abc import Callable

import casadi
import numpy as np

from ..answer import Answer
from ..problems import MAX_SECONDS, OutOfBudget, Problem

TOLERANCE = 1e-8
MAX_ITERATIONS = 3000  # IPOPT's default


class _Function(casadi.Callback):
    """A Python function of dense vectors for CasADi; NaN everywhere once the budget is used up."""

    def __init__(self, name: str, evaluate: Callable, inputs: list[int], outputs: list[casadi.Sparsity]):
        super().__init__()
        self._evaluate, self._inputs, self._outputs = evaluate, inputs, outputs
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self._inputs)

    def get_n_out(self) -> int:
        return len(self._outputs)

    def get_sparsity_in(self, i: int) -> casadi.Sparsity:
        return casadi.Sparsity.dense(self._inputs[i], 1 if self._inputs[i] else 0)

    def get_sparsity_out(self, i: int) -> casadi.Sparsity:
        return self._outputs[i]

    def eval(self, arguments: list[casadi.DM]) -> list[casadi.DM]:
        try:
            values = self._evaluate(*(np.array(a.full()).ravel() for a in arguments))
        except OutOfBudget:
            values = [np.full(s.shape, np.nan) for s in self._outputs]
        return [
            casadi.DM(s, np.asarray(v).reshape(s.shape).T[_filled(s)])
            for s, v in zip(self._outputs, values, strict=True)
        ]


def _filled(sparsity: casadi.Sparsity) -> np.ndarray:
    """Where a pattern has entries, as a mask of its transpose: CasADi stores columns first."""
    return np.array(casadi.DM(sparsity, 1.0).full(), dtype=bool).T


def solve(problem: Problem, *, exact: bool = False) -> Answer:
    """IPOPT with its limited-memory Hessian, or the exact one."""
    n, m = problem.n, problem.m
    dense = casadi.Sparsity.dense
    scalar, vector, rows = dense(1, 1), dense(n, 1), dense(m, 1)
    # The first output of grad_f and jac_g, the value itself, is never read by IPOPT's interface.
    f = _Function("f", lambda x: [problem.fun(x)], [n], [scalar])
    grad_f = _Function("grad_f", lambda x, p: [0.0, problem.grad(x)], [n, 0], [scalar, vector])
    options = {
        "grad_f": grad_f,
        "no_nlp_grad": True,
        "print_time": False,
        "show_eval_warnings": False,
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "ipopt.tol": TOLERANCE,
        "ipopt.constr_viol_tol": TOLERANCE,
        "ipopt.bound_relax_factor": 0.0,
        "ipopt.max_iter": MAX_ITERATIONS,
        "ipopt.max_cpu_time": MAX_SECONDS,
        "ipopt.hessian_approximation": "exact" if exact else "limited-memory",
    }
    x = casadi.MX.sym("x", n)
    nlp = {"x": x, "f": f(x)}
    limits = {"lbx": problem.xl, "ubx": problem.xu}
    keep = [f, grad_f]  # CasADi does not keep Python's callbacks alive
    if m:
        g = _Function("g", lambda x: [problem.con(x)], [n], [rows])
        jac_g = _Function("jac_g", lambda x, p: [np.zeros(m), problem.jac(x)], [n, 0], [rows, dense(m, n)])
        nlp["g"], options["jac_g"] = g(x), jac_g
        limits |= {"lbg": np.where(problem.equality, 0.0, -np.inf), "ubg": np.zeros(m)}
        keep += [g, jac_g]
    if exact:
        upper = casadi.Sparsity.upper(n)
        options["hess_lag"] = _Function(
            "hess_lag",
            lambda x, p, weight, y: [problem.lagrangian_hess(x, weight[0], y)],
            [n, 0, 1, m],
            [upper],
        )
    solver = casadi.nlpsol("solver", "ipopt", nlp, options)
    result = solver(x0=problem.x0, **limits)
    stats = solver.stats()
    status = str(stats["return_status"])
    return Answer(
        np.array(result["x"].full()).ravel(), bool(stats["success"]), status, stats.get("iter_count")
    )


def solve_exact(problem: Problem) -> Answer:
    """IPOPT with exact Hessians."""
    return solve(problem, exact=True)
