"""Seeded convex problems whose solution is known because it was chosen first.

A problem is built around its solution u* in *natural* units, in which everything is of size one: choose u*,
which bounds and rows are active there and their multipliers, then give every function the linear term that
makes its gradient at u* the one wanted. The objective is strictly convex, every row convex (or linear), so
u* is the one global minimum. The solver sees x = D·u, objective·s and rows·w with the factors of the kind.

In natural units the Hessian of the objective has eigenvalues of at least `FLATTEST`, rows have gradients
of length 0.3 to 3 at u* (copies 0.15 to 6), |u*| is some units, multipliers are 0 or between 0.01 and 10.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
from scipy.special import expit

from softpenalty import Constraint
from softpenalty.solve.status import Status

SEED = 20240
KINDS = ("plain", "rows", "objective", "variables ×3", "variables ×8")
SIZE = 2000  # of the whole set; problem i is of kind i mod 5
MAX_N, MAX_ROWS = 30, 60
FLATTEST = 0.1  # least eigenvalue of the objective's Hessian
SPREADS = (1.0, 1e2, 1e4)  # ratios of the largest to the least eigenvalue of its quadratic part
LARGEST_GRADIENT = 100.0  # of the objective at the solution
FORMS = ("Constraint", "NonlinearConstraint", "LinearConstraint", "dict")
SOLVED = 1e-6
WRONG = 1e-4  # see `judge`

Random = np.random.Generator
Array = np.ndarray


class Convex:
    """m functions of u (n,): sign·Σ weight·φ(M·u + offset) + linear·u, with four convex curves φ."""

    def __init__(self, n: int, m: int) -> None:
        self.M, self.offset, self.curve = np.zeros((0, n)), np.zeros(0), np.zeros(0, dtype=int)
        self.weights = np.zeros((m, 0))  # the sign is in here
        self.linear = np.zeros((m, n))

    def add(self, row: int, M: Array, offset: Array, curve: Array, weights: Array) -> None:
        """Give function `row` more curved terms."""
        self.M, self.offset = np.vstack([self.M, M]), np.append(self.offset, offset)
        self.curve = np.append(self.curve, curve)
        columns = np.zeros((self.linear.shape[0], len(weights)))
        columns[row] = weights
        self.weights = np.hstack([self.weights, columns])

    def values(self, u: Array) -> Array:
        """(m,)"""
        t = self.M @ u + self.offset
        with np.errstate(over="ignore", invalid="ignore"):
            phi = np.choose(self.curve, [t * t / 2, t**4 / 4, np.logaddexp(0.0, t), np.hypot(1.0, t)])
            return self.weights @ phi + self.linear @ u

    def gradients(self, u: Array) -> Array:
        """(m, n)"""
        t = self.M @ u + self.offset
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.choose(self.curve, [t, t**3, expit(t), t / np.hypot(1.0, t)])
            return self.weights @ (slope[:, None] * self.M) + self.linear


@dataclass
class Problem:
    """A problem as `minimize` gets it (`arguments`) and all that is known about it, in natural units.

    ``x = variable_scale · u``, ``fun = objective_scale · objective(u)``, row i is ``row_scale[i]`` times its
    natural value, to be between ``low`` and ``high``.
    """

    index: int
    kind: str
    objective: Convex
    rows: Convex
    low: Array
    high: Array
    lower: Array
    upper: Array
    solution: Array
    start: Array
    multipliers: Array  #: of the rows, positive at an upper limit
    variable_scale: Array
    row_scale: Array
    objective_scale: float
    traits: list[str] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def x(self) -> Array:
        """The solution as the solver sees it."""
        return self.solution * self.variable_scale

    @property
    def optimum(self) -> float:
        """The objective at the solution, natural."""
        return float(self.objective.values(self.solution)[0])

    def violation(self, u: Array) -> float:
        """Largest violation of a row or bound, natural, relative to max(1, |limit|)."""
        values = np.append(self.rows.values(u), u)
        low, high = np.append(self.low, self.lower), np.append(self.high, self.upper)
        excess = [(low - values) / _size(low), (values - high) / _size(high)]
        return float(np.max(excess, initial=0.0))


def _size(limit: Array) -> Array:
    return np.where(np.isfinite(limit), np.maximum(1.0, np.abs(limit)), 1.0)


@dataclass(frozen=True)
class Verdict:
    """What is true of a result.

    ``gap`` is the objective's excess over the optimum relative to max(1, |optimum|), ``violation`` that of
    `Problem.violation`, both in natural units.
    """

    gap: float
    violation: float
    claimed: bool
    status: int

    @property
    def solved(self) -> bool:
        """Right to `SOLVED`."""
        return self.gap <= SOLVED and self.violation <= SOLVED

    @property
    def false_success(self) -> bool:
        """Success is claimed at a point that is wrong by `WRONG`."""
        return self.claimed and not (self.gap <= WRONG and self.violation <= WRONG)

    @property
    def false_infeasible(self) -> bool:
        """All problems are feasible."""
        return self.status == Status.INFEASIBLE.number


def judge(problem: Problem, result: Any) -> Verdict:
    """Measure a result in natural units.

    The objective is tested from above only: it can be below the optimum by violation alone. Why `WRONG` does
    not accuse an honest solver: for multipliers of the right sign f − f* ≤ |∇L|²/(2·FLATTEST) − Σ y·error.
    With ∇L right to 1e-6 of the gradient in each of n ≤ 30 components the first term is at most
    (1e-6·LARGEST_GRADIENT)²·30/(2·FLATTEST) = 1.5e-6; the second is zero for multipliers of an active set
    (at the edge of the documented complementarity, 1e-5 each, it would take ten rows). Rows × 1e-3 that are
    met to 1e-8 are met to 1e-5 in natural units. All this holds in each variable's own unit.
    """
    u = np.asarray(result.x, dtype=float) / problem.variable_scale
    f = float(problem.objective.values(u)[0])
    gap = (f - problem.optimum) / max(1.0, abs(problem.optimum))
    violation = problem.violation(u)
    if not (np.isfinite(gap) and np.isfinite(violation)):
        gap = violation = np.inf
    return Verdict(gap, violation, bool(result.success), int(result.status))


def make(index: int) -> Problem:
    """Problem number `index`, the same on every call."""
    random = np.random.default_rng([SEED, index])
    kind = KINDS[index % len(KINDS)]
    n = round(MAX_N ** random.uniform()) if random.uniform() < 0.5 else int(random.integers(1, MAX_N + 1))
    u = random.normal(size=n) * random.choice([1.0, 3.0])
    u[random.uniform(size=n) < random.choice([0.1, 0.5])] = 0.0
    weak = float(random.choice([0.0, 0.2, 0.5]))  # share of the active that have no multiplier
    # A direction in which all inequalities are left strictly (in most problems): there is an inside.
    inward = random.normal(size=n)
    inward /= np.linalg.norm(inward)
    open_inside = random.uniform() < 0.8
    traits = ["open inside"] if open_inside else []
    lower, upper, z, fixed = _bounds(random, u, inward, open_inside, weak, traits)
    rows, low, high, y = _rows(random, u, np.where(fixed, 0.0, inward), open_inside, weak, traits)
    objective = _objective(random, u, -z - y @ rows.gradients(u), traits)
    D, w, s = np.ones(n), np.ones(low.size), 1.0
    if kind == "rows":
        w = 10.0 ** random.uniform(-3, 3, low.size)
    elif kind == "objective":
        s = float(10.0 ** random.uniform(-8, 8))
    elif kind != "plain":
        power = 3 if kind == "variables ×3" else 8
        D = 10.0 ** random.uniform(-power, power, n)
    start = _start(random, u, inward, traits)
    problem = Problem(index, kind, objective, rows, low, high, lower, upper, u, start, y, D, w, s, traits)
    problem.arguments = _arguments(random, problem)
    return problem


def _bounds(
    random: Random, u: Array, inward: Array, open_inside: bool, weak: float, traits: list[str]
) -> tuple[Array, Array, Array, Array]:
    """Bounds, their multipliers (positive at an upper one) and which variables are fixed."""
    n = u.size
    lower, upper, z, fixed = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n), np.zeros(n, dtype=bool)
    if random.uniform() < 0.3:
        return lower, upper, z, fixed
    traits.append("bounds")
    share = random.choice([0.1, 0.3, 0.6])
    fixing = 0.2 if random.uniform() < 0.3 else 0.0
    for j in range(n):
        below, above = 10.0 ** random.uniform(-1, 1, 2)
        if random.uniform() < 0.7:
            lower[j] = u[j] - below
        if random.uniform() < 0.7:
            upper[j] = u[j] + above
        if random.uniform() < fixing:
            lower[j] = upper[j] = u[j]
            z[j], fixed[j] = random.normal(), True
        elif random.uniform() < share:
            at_lower = inward[j] > 0 if open_inside else random.uniform() < 0.5
            (lower if at_lower else upper)[j] = u[j]
            z[j] = _multiplier(random, weak) * (-1.0 if at_lower else 1.0)
    if fixed.any():
        traits.append("fixed")
    return lower, upper, z, fixed


def _multiplier(random: Random, weak: float) -> float:
    return 0.0 if random.uniform() < weak else float(10.0 ** random.uniform(-2, 1))


def _rows(
    random: Random, u: Array, inward: Array, open_inside: bool, weak: float, traits: list[str]
) -> tuple[Convex, Array, Array, Array]:
    """Rows, their limits (m,) and multipliers (m,), positive at an upper limit."""
    n = u.size
    most = min(MAX_ROWS, 2 * n + 1) if random.uniform() < 0.85 else MAX_ROWS
    m = 0 if random.uniform() < 0.15 else int(random.integers(0, most + 1))
    rows = Convex(n, m)
    low, high, y = np.full(m, -np.inf), np.full(m, np.inf), np.zeros(m)
    active_share = random.choice([0.1, 0.3, 0.6, 1.0])
    equalities = int(random.integers(0, max(1, n // 2) + 1)) if random.uniform() < 0.5 else 0
    curved_share = random.choice([0.0, 0.5, 1.0])
    copying = 0.2 if random.uniform() < 0.3 else 0.0
    freeing = 0.2 if random.uniform() < 0.2 else 0.0
    for i in range(m):
        if i and random.uniform() < copying:  # the same again, or twice the same thing in other words
            source, factor = int(random.integers(i)), float(random.choice([1.0, 0.5, -2.0]))
            rows.linear[i], rows.weights[i] = factor * rows.linear[source], factor * rows.weights[source]
            low[i], high[i] = sorted([factor * low[source], factor * high[source]])
            traits.append("redundant")
            continue
        gradient = random.normal(size=n)
        gradient *= 10.0 ** random.uniform(-0.5, 0.5) / np.linalg.norm(gradient)
        equality = i < equalities
        sign = 1.0 if equality or random.uniform() < 0.5 else -1.0  # −1: concave ≥
        if open_inside:
            along = gradient @ inward
            if equality and n > 1:
                gradient = gradient - along * inward / max(inward @ inward, 1e-12)
            elif sign * along > 0.0:
                gradient = -gradient
        curved = not equality and random.uniform() < curved_share
        if curved:
            k = int(random.integers(1, 4))
            M = random.normal(size=(k, n)) * 10.0 ** random.uniform(-1, 0.3) / np.sqrt(n)
            offset = random.normal(size=k) - M @ u
            rows.add(i, M, offset, random.choice([0, 0, 2, 3], k), np.full(k, sign))
        rows.linear[i] = gradient - rows.gradients(u)[i]
        value = float(rows.values(u)[i])
        if equality:
            low[i] = high[i] = value
            y[i] = _multiplier(random, weak) * random.choice([-1.0, 1.0])
            continue
        if random.uniform() < freeing:
            traits.append("free rows")
            continue
        active = random.uniform() < active_share
        limit = value if active else value + sign * 10.0 ** random.uniform(-1, 1.5)
        (high if sign > 0 else low)[i] = limit
        if active:
            y[i] = sign * _multiplier(random, weak)
        if not curved and random.uniform() < 0.2:  # a range
            (low if sign > 0 else high)[i] = value - sign * 10.0 ** random.uniform(-1, 1.5)
            traits.append("ranges")
    active = int(((low == rows.values(u)) | (high == rows.values(u))).sum())
    if active > n:
        traits.append("more active than n")
    return rows, low, high, y


def _objective(random: Random, u: Array, gradient: Array, traits: list[str]) -> Convex:
    """Strictly convex, with this gradient at u."""
    n, objective = u.size, Convex(u.size, 1)
    V = np.linalg.qr(random.normal(size=(n, n)))[0]
    eigenvalues = FLATTEST * random.choice(SPREADS) ** random.uniform(0, 1, n)
    objective.add(0, np.sqrt(eigenvalues)[:, None] * V, np.zeros(n), np.zeros(n, dtype=int), np.ones(n))
    if random.uniform() < 0.5:
        traits.append("smooth")
        k = int(random.integers(1, n + 2))
        M = random.normal(size=(k, n)) / np.sqrt(n)
        offset = random.normal(size=k) - M @ u
        objective.add(0, M, offset, random.choice([1, 2, 3], k), 10.0 ** random.uniform(-1, 0.5, k))
    objective.linear[0] = gradient - objective.gradients(u)[0]
    return objective


def _start(random: Random, u: Array, inward: Array, traits: list[str]) -> Array:
    where = str(random.choice(["solution", "near", "inside", "origin", "off", "far"], p=np.ones(6) / 6))
    traits.append(f"start {where}")
    away = random.normal(size=u.size)
    return {
        "solution": u,
        "near": u + 0.1 * away,
        "inside": u + 10.0 ** random.uniform(-2, 0) * inward,
        "origin": np.zeros(u.size),
        "off": 3.0 * away,
        "far": u + 10.0 ** random.uniform(1, 3) * away,
    }[where]


def _arguments(random: Random, problem: Problem) -> dict[str, Any]:
    """What `minimize` is called with: scaled functions in one of the forms, or in all of them."""
    D, s = problem.variable_scale, problem.objective_scale
    style = str(random.choice(["exact", "differenced", "mixed"], p=[0.6, 0.25, 0.15]))
    if problem.kind == "variables ×8":
        style = "exact"  # no step of a difference serves variables of 1e-8 and 1e8
    problem.traits.append(style)

    def exact() -> bool:
        return style == "exact" or (style == "mixed" and bool(random.uniform() < 0.5))

    def fun(x: Array) -> float:
        return s * float(problem.objective.values(x / D)[0])

    def jac(x: Array) -> Array:
        return s * problem.objective.gradients(x / D)[0] / D

    arguments: dict[str, Any] = {"fun": fun, "x0": problem.start * D, "jac": jac if exact() else None}
    if arguments["jac"] and random.uniform() < 0.2:
        arguments |= {"fun": lambda x: (fun(x), jac(x)), "jac": True}
    lower, upper = problem.lower * D, problem.upper * D
    if np.isfinite(np.append(lower, upper)).any():
        pairs = [
            (a if a > -np.inf else None, b if b < np.inf else None) for a, b in zip(lower, upper, strict=True)
        ]
        arguments["bounds"] = Bounds(lower, upper) if random.uniform() < 0.5 else pairs
    m = problem.low.size
    wanted = random.choice(FORMS, m) if random.uniform() < 0.4 else np.repeat(random.choice(FORMS), m)
    groups: dict[tuple[str, str], list[int]] = {}
    for i, form in enumerate(wanted):
        groups.setdefault(_form(problem, i, str(form)), []).append(i)
    arguments["constraints"] = [
        _constraint(problem, form, operator, np.array(members), exact(), random)
        for (form, operator), members in groups.items()
    ]
    return arguments


def _form(problem: Problem, i: int, form: str) -> tuple[str, str]:
    """The wanted form if it can express row i, and the operator."""
    low, high = problem.low[i], problem.high[i]
    if form == "LinearConstraint" and problem.rows.weights[i].any():
        form = "Constraint"
    if form in ("LinearConstraint", "NonlinearConstraint") or (np.isfinite([low, high]).all() and low < high):
        return (form if form == "LinearConstraint" else "NonlinearConstraint"), "range"
    if low == high:
        return form, "="
    if form == "dict" and not np.isfinite([low, high]).any():
        form = "Constraint"
    return form, ">" if low > -np.inf else "<"  # a free row gets the target inf


def _constraint(
    problem: Problem, form: str, operator: str, members: Array, exact: bool, random: Random
) -> Any:
    """The rows `members` as one constraint."""
    D, w = problem.variable_scale, problem.row_scale[members]
    low, high = problem.low[members] * w, problem.high[members] * w

    def values(x: Array) -> Array:
        return w * problem.rows.values(x / D)[members]

    def jac(x: Array) -> Array:
        return w[:, None] * problem.rows.gradients(x / D)[members] / D

    if form == "LinearConstraint":
        A = jac(np.zeros(D.size))
        return LinearConstraint(scipy.sparse.csr_array(A) if random.uniform() < 0.2 else A, low, high)
    derivative: dict[str, Any] = {"jac": jac} if exact else {}
    if form == "NonlinearConstraint":
        return NonlinearConstraint(values, low, high, **derivative)
    target = high if operator == "<" else low
    if form == "Constraint":
        if members.size == 1 and random.uniform() < 0.5:  # a float, and a gradient of one axis
            flat = {"jac": lambda x: jac(x)[0]} if exact else {}
            return Constraint(lambda x: float(values(x)[0]), operator, float(target[0]), **flat)
        return Constraint(values, operator, target, **derivative)
    sign = -1.0 if operator == "<" else 1.0
    if exact:
        derivative = {"jac": lambda x: sign * jac(x)}
    kind = "eq" if operator == "=" else "ineq"
    return {"type": kind, "fun": lambda x: sign * (values(x) - target), **derivative}
