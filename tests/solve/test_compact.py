"""Matrices of many variables kept as a diagonal and a few vectors: the same answers as with dense ones."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, rosen, rosen_der

from softpenalty import minimize
from softpenalty.solve.sqp.curvature.compact import CompactMatrix
from softpenalty.solve.sqp.curvature.large import LARGE, LargeCurvature, secant_curvature
from softpenalty.solve.sqp.curvature.limited import MEMORY, ROOM, LimitedCurvature, LimitedMatrix
from softpenalty.solve.sqp.curvature.secant import SPANNED, SecantCurvature
from softpenalty.solve.sqp.points import Point
from softpenalty.solve.sqp.subproblem.active_set import solve_from_guess
from softpenalty.solve.sqp.subproblem.compact import solve_compact
from softpenalty.solve.sqp.subproblem.qp import QP
from softpenalty.solve.sqp.subproblem.steering import Subproblem

SEEDS = pytest.mark.parametrize("seed", range(20))


def random_matrix(rng, n=12, k=4, positive=True):
    share = rng.uniform(0.5, 2.0, k) * (1.0 if positive else rng.choice([-1.0, 1.0], k))
    return CompactMatrix.of_products(rng.uniform(1.0, 3.0, n), rng.normal(size=(k, n)), share)


def point(x, g, A):
    return Point(np.asarray(x, float), 0.0, np.zeros(len(A)), np.asarray(g, float), np.asarray(A, float))


@SEEDS
@pytest.mark.parametrize("k", [0, 4])
def test_the_algebra_is_that_of_the_dense_matrix(seed, k):
    rng = np.random.default_rng(seed)
    n = 12
    D, V, share = rng.uniform(1.0, 3.0, n), rng.normal(size=(k, n)), rng.choice([-0.1, 1.0, 20.0], k)
    B = CompactMatrix.of_products(D, V, share)
    dense = np.diag(D) + (V.T * share) @ V
    np.testing.assert_allclose(B.dense(), dense, rtol=1e-12, atol=1e-12)
    d, rows = rng.normal(size=n), rng.normal(size=(3, n))
    np.testing.assert_allclose(B @ d, dense @ d, rtol=1e-11, atol=1e-11)
    units = rows / np.linalg.norm(rows, axis=1)[:, None]
    plus = dense + 7.0 * units.T @ units
    np.testing.assert_allclose(B.plus(rows, 7.0).dense(), plus, rtol=1e-11, atol=1e-11)
    free = np.flatnonzero(rng.random(n) < 0.7)
    own, system = dense[np.ix_(free, free)], B.among(free)
    # the condition number of what is left of the matrix stands between the two
    tolerance = 1e-13 * np.linalg.cond(own)
    np.testing.assert_allclose(own @ system.solve(d[free]), d[free], rtol=tolerance, atol=tolerance)
    between = rows[:, free] @ np.linalg.solve(own, rows[:, free].T)
    size = np.abs(between).max()
    np.testing.assert_allclose(system.between(rows[:, free]), between, atol=10.0 * tolerance * size)


@pytest.mark.parametrize("seed", range(100))
def test_definiteness_is_told_by_a_small_matrix(seed):
    rng = np.random.default_rng(seed)
    B = random_matrix(rng, positive=False)
    if seed % 2:
        B = B.plus(rng.normal(size=(3, 12)), 10.0 ** rng.uniform(-2, 3))
    lowest = np.linalg.eigvalsh(B.dense())[0]
    for smallest in (0.0, 1e-3, 0.9):
        assert B.is_definite(smallest) == (lowest > smallest)


def test_definiteness_has_both_answers():
    answers = {
        random_matrix(np.random.default_rng(seed), positive=False).is_definite(0.0) for seed in range(20)
    }
    assert answers == {False, True}


def test_not_finite_is_not_definite():
    B = CompactMatrix.of_products(np.ones(3), np.array([[1.0, np.inf, 0.0]]), np.ones(1))
    assert not B.is_definite(0.0)


def updated(scale, pairs):
    """BFGS as in any book."""
    B = scale * np.eye(pairs[0][0].size)
    for s, y in pairs:
        Bs = B @ s
        B += np.outer(y, y) / (s @ y) - np.outer(Bs, Bs) / (s @ Bs)
    return B


def walked(n, steps, seed, H):
    """A curvature that saw so many random steps on a quadratic, the matrix it gave last, and the pairs."""
    rng = np.random.default_rng(seed)
    curvature, none = LimitedCurvature(n), np.empty((0, n))
    old = point(rng.normal(size=n), np.zeros(n), none)
    old.g = H @ old.x
    B, pairs = curvature.begin(old, 2.0), []
    for _ in range(steps):
        new = point(old.x + rng.normal(size=n), np.zeros(n), none)
        new.g = H @ new.x
        B = curvature.move(old, new, np.empty(0), np.empty(0, dtype=bool))
        pairs.append((new.x - old.x, new.g - old.g))
        old = new
    return B, pairs


def free_step(B, g):
    n = g.size
    return B.step(g, np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=np.int8))


@pytest.mark.parametrize("steps", [1, 3, MEMORY, ROOM, ROOM + 1, 2 * ROOM + 5])
def test_limited_memory_is_bfgs_over_the_last_pairs(steps):
    n = 15
    H = np.diag(np.geomspace(0.5, 50.0, n))
    B, pairs = walked(n, steps, steps, H)
    s, y = pairs[-1]
    reference = updated(y @ y / (s @ y), pairs[-MEMORY:])
    np.testing.assert_allclose(B.dense(), reference, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(B @ s, y, rtol=1e-9, atol=1e-9)
    g = np.cos(np.arange(n))
    d = free_step(B, g)
    np.testing.assert_allclose(reference @ d, -g, rtol=1e-9, atol=1e-9)
    just, states = np.abs(d).max(), np.zeros(n, dtype=np.int8)
    for width, inside in ((just, True), (0.99 * just, False)):
        assert (B.step(g, np.full(n, -width), np.full(n, width), states) is not None) == inside
    states[3] = 1
    assert B.step(g, np.full(n, -np.inf), np.full(n, np.inf), states) is None


def test_limited_memory_leaves_out_what_does_not_curve_upward():
    n = 6
    H = np.diag([1.0, 2.0, 3.0, -1.0, -2.0, -3.0])
    for steps in range(1, 30):
        B, pairs = walked(n, steps, 3, H)
        assert np.linalg.eigvalsh(B.dense())[0] > 0.0
    assert any(s @ y < 0.0 for s, y in pairs)


def test_before_any_step_it_is_a_multiple_of_the_identity():
    B, _ = walked(5, 0, 0, np.eye(5))
    np.testing.assert_array_equal(B.dense(), 2.0 * np.eye(5))
    np.testing.assert_array_equal(free_step(B, np.ones(5)), np.full(5, -0.5))
    assert free_step(B, np.full(5, np.nan)) is None


def test_who_takes_which():
    kinds = {
        (SPANNED, 0): SecantCurvature,
        (SPANNED + 1, 0): LimitedCurvature,
        (LARGE, 3): SecantCurvature,
        (LARGE + 1, 3): LargeCurvature,
    }
    for sizes, kind in kinds.items():
        assert type(secant_curvature(*sizes)) is kind


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("convex", [True, False])
@pytest.mark.parametrize("active", [True, False])
def test_the_compact_matrix_is_the_secant_one(seed, convex, active):
    rng = np.random.default_rng(seed)
    n, m = SPANNED + 10, 3  # both keep 40 pairs
    M = rng.normal(size=(n, n)) / np.sqrt(n)
    q = rng.normal(size=n) / np.sqrt(n)
    H = M @ M.T + np.eye(n) - (0.0 if convex else 10.0) * np.outer(q, q)  # one negative eigenvalue
    C = rng.normal(size=(m, n, n))
    C += C.swapaxes(1, 2)

    def at(x):
        return point(x, H @ x, C @ x * 1e-3)

    both = SecantCurvature(n, m), LargeCurvature(n, m)
    old = at(rng.normal(size=n))
    for curvature in both:
        curvature.begin(old, 1.0)
    corner = np.array([active, False, active])
    for _ in range(45):  # more than are kept
        new = at(old.x + rng.normal(size=n))
        y = rng.normal(size=m)
        dense, compact = (curvature.move(old, new, y, corner) for curvature in both)
        old = new
    size = np.abs(dense).max()
    np.testing.assert_allclose(compact.dense(), dense, atol=1e-8 * size)


def random_qp(rng, B, n, m, equalities, width=1.0):
    a = rng.normal(size=(m, n))
    a /= np.linalg.norm(a, axis=1)[:, None]
    equality = np.arange(m) < equalities
    low = np.concatenate([np.where(equality, -np.inf, 0.0), np.full(n, -width)])
    high = np.concatenate([np.full(m, np.inf), np.full(n, width)])
    b = -a @ rng.uniform(-0.5, 0.5, n) - np.where(equality, 0.0, rng.uniform(0.0, 0.3, m))
    return 5.0 * rng.normal(size=n), B, a, b, low, high, equality


@pytest.mark.parametrize(("m", "equalities"), [(0, 0), (4, 0), (4, 2)])
def test_the_structured_solution_is_the_dense_one(m, equalities):
    # From some guesses more rows are to be met than variables are free: that is for the library.
    assert sum(structured_and_dense(seed, m, equalities) for seed in range(40)) >= (40 if m == 0 else 36)


def structured_and_dense(seed, m, equalities):
    """Whether the structure leads to a solution, which then is that of the dense QP."""
    rng = np.random.default_rng(seed)
    n = 12
    B = random_matrix(rng, n)
    g, B, a, b, low, high, equality = random_qp(rng, B, n, m, equalities)
    states = np.zeros(m + n, dtype=np.int8)
    states[:m][~equality] = -1
    states[m:] = rng.integers(-1, 2, n)
    found = solve_compact(g, B, a, b, low, high, states)
    if found is None:
        return False
    step = Subproblem(equality, n, 1e6).solve(g, B.dense(), a, b, low[m:], high[m:])
    assert step is not None and step.met
    np.testing.assert_allclose(found.d, step.d, atol=1e-9)
    np.testing.assert_allclose(found.y, step.y, atol=1e-8)
    np.testing.assert_allclose(found.z, step.z, atol=1e-8)
    again = solve_from_guess(QP(g, B.dense(), a, b, low, high), found.states, 1)
    return again is not None  # its states are those of the solution


@SEEDS
def test_bounds_alone_never_need_the_library(seed):
    rng = np.random.default_rng(seed)
    n = 300
    H = 10.0 ** rng.uniform(-3, 3, n)
    S = rng.normal(size=(5, n))
    S /= np.sqrt(np.vecdot(S, S * H))[:, None]
    B = LimitedMatrix(10.0 ** rng.uniform(-2, 2), S, S * H)
    g = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3, n)
    low, high = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
    nothing = np.empty((0, n)), np.empty(0)
    states = rng.integers(-1, 2, n).astype(np.int8)
    found = solve_compact(g, B, *nothing, low, high, states)
    assert found is not None
    residual = B @ found.d + g + found.z
    assert np.abs(residual).max() <= 1e-9 * np.abs(g).max()
    assert (found.d >= low).all() and (found.d <= high).all()
    # multipliers push away from the bound where the step is held, and vanish elsewhere
    held_low, held_high = found.d == low, found.d == high
    assert (found.z[~held_low & ~held_high] == 0.0).all()
    assert (found.z[held_low] <= 0.0).all() and (found.z[held_high] >= 0.0).all()


def test_dependent_rows_are_left_to_others():
    n = 6
    B = CompactMatrix.of_products(np.ones(n), np.empty((0, n)), np.empty(0))
    a = np.zeros((2, n))
    a[:, 0] = 1.0
    free = np.full(n, np.inf)
    low, high = np.concatenate([[-np.inf] * 2, -free]), np.concatenate([[np.inf] * 2, free])
    assert solve_compact(np.ones(n), B, a, np.ones(2), low, high, np.zeros(2 + n, dtype=np.int8)) is None
    step = Subproblem(np.ones(2, dtype=bool), n, 1e3).solve(np.ones(n), B, a, np.ones(2), -free, free)
    assert step is not None
    np.testing.assert_allclose(step.d, [-1.0] * n, atol=1e-6)


@pytest.mark.parametrize("n", [LARGE - 20, LARGE + 20])
def test_many_variables_with_rows_and_bounds(n):
    # Pairs on circles, some cut off by a bound: min Σ(x − 2)², x² + y² ≤ 1, x ≤ 0.5.
    m = n // 2

    def jac(x):
        J = np.zeros((m, n))
        J[np.arange(m), 2 * np.arange(m)], J[np.arange(m), 2 * np.arange(m) + 1] = (
            -2.0 * x[::2],
            -2.0 * x[1::2],
        )
        return J

    circles = {"type": "ineq", "fun": lambda x: 1.0 - x[::2] ** 2 - x[1::2] ** 2, "jac": jac}
    upper = np.where(np.arange(n) % 4 == 0, 0.5, np.inf)
    result = minimize(
        lambda x: ((x - 2.0) ** 2).sum(),
        np.zeros(n),
        jac=lambda x: 2.0 * (x - 2.0),
        bounds=Bounds(-np.inf, upper),
        constraints=[circles],
    )
    assert result.success
    expected = np.tile([0.5, np.sqrt(0.75), np.sqrt(0.5), np.sqrt(0.5)], n // 4)
    np.testing.assert_allclose(result.x, expected, atol=1e-6)


@pytest.mark.parametrize("bounded", [False, True])
def test_hundreds_of_variables_without_rows(bounded):
    n = 300
    bounds = Bounds(-2.0, np.where(np.arange(n) % 50 == 49, 0.5, 2.0)) if bounded else None
    calls = []
    result = minimize(
        rosen,
        np.tile([-1.2, 0.4], n // 2),
        jac=lambda x: calls.append(1) or rosen_der(x),
        bounds=bounds,
        options={"maxiter": 10_000},
    )
    assert result.success
    assert len(calls) <= 8 * n  # 5 n or so; a second attempt would double that
    if not bounded:
        np.testing.assert_allclose(result.x, 1.0, atol=1e-5)
    else:
        held = result.x == bounds.ub
        assert held.any() and (rosen_der(result.x)[held] <= 0.0).all()
        assert np.abs(rosen_der(result.x)[~held]).max() < 1e-4


def test_thousands_of_variables_take_no_matrix():
    n = 2000
    tracemalloc.start()
    result = minimize(rosen, np.tile([-1.2, 1.0], n // 2), jac=rosen_der, options={"maxiter": 60})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.nit == 60
    assert peak < 0.5 * 8 * n * n  # half of one n × n matrix


def uneven(n):
    """Convex, curvatures a thousand times apart, neighbours coupled."""
    weights = np.geomspace(1.0, 1e3, n)

    def fun(x):
        return float(weights @ (np.exp(x) - 2.0 * x) + 50.0 * (np.diff(x) ** 2).sum())

    def grad(x):
        pull = 100.0 * np.diff(x)
        g = weights * (np.exp(x) - 2.0)
        g[:-1] -= pull
        g[1:] += pull
        return g

    return fun, grad


def test_the_last_digits_may_take_long():
    # Falls of 1e-12 of the objective are progress: linear convergence is no stall.
    fun, grad = uneven(150)
    result = minimize(fun, np.zeros(150), jac=grad)
    assert result.success
    np.testing.assert_allclose(result.x, np.log(2.0), atol=1e-6)  # exp(x) = 2 has no differences


@pytest.mark.parametrize("rows", [False, True])
def test_second_derivatives_of_many_variables(rows):
    n = LARGE + 1
    fun, grad = uneven(n)
    coupling = 100.0 * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    coupling[0, 0] = coupling[-1, -1] = 100.0

    def hess(x):
        return np.diag(np.geomspace(1.0, 1e3, n) * np.exp(x)) + coupling

    total = LinearConstraint(np.ones((1, n)), -np.inf, 0.5 * n) if rows else ()
    result = minimize(fun, np.zeros(n), jac=grad, hess=hess, constraints=total)
    assert result.success and result.nit <= 20
    if rows:
        assert result.x.sum() == pytest.approx(0.5 * n)
    else:
        np.testing.assert_allclose(result.x, np.log(2.0), atol=1e-8)


def test_more_variables_than_a_dense_matrix_may_have():
    n = 3000
    fun, grad = uneven(n)
    lower = np.where(np.arange(n) % 3 == 0, 0.8, -np.inf)
    result = minimize(fun, np.zeros(n), jac=grad, bounds=Bounds(lower, np.inf))
    assert result.success
    held = result.x == lower
    assert 0 < held.sum() <= n // 3 + 1
    g = grad(result.x)
    assert (g[held] >= 0.0).all()
    assert np.abs(g[~held]).max() <= 1e-5 * np.abs(grad(np.zeros(n))).max()


def test_a_matrix_that_is_far_too_stiff_fades():
    # The first step leads from curvature 1e6 into a region of negative curvature around the origin.
    def fun(x):
        return 1e-5 * ((x - 1.0) ** 2).sum() + (x @ x - 0.25) ** 2

    def grad(x):
        return 2e-5 * (x - 1.0) + 4.0 * (x @ x - 0.25) * x

    result = minimize(fun, np.arange(1.0, 151.0), jac=grad)
    assert result.success
    assert np.abs(grad(result.x)).max() <= 1e-6  # the tolerance; the valley's floor is flatter than that
    assert result.x @ result.x == pytest.approx(0.25, rel=0.01)
