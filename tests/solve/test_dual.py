"""The hard QP by the dual active set: optimality, proofs that there is no solution, degenerate rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from hard_qps import draw, hard
from softpenalty.solve.sqp.subproblem.active_set import solve_from_guess
from softpenalty.solve.sqp.subproblem.dual import SETTINGS, dual_solved, solve_dual
from softpenalty.solve.sqp.subproblem.qp import ABOVE, BELOW, CORNER, QP, QPSolution
from softpenalty.solve.sqp.subproblem.steering import Subproblem

SEEDS = 1500


def assert_optimal(qp: QP, found: QPSolution, tolerance: float = 1e-8) -> None:
    """The optimality conditions, relative to multipliers and to step and errors, and what the states say."""
    d, y, z, m = found.d, found.y, found.z, qp.b.size
    lower, upper, equality = qp.low[m:], qp.high[m:], qp.low[:m] < 0.0
    length = max(1.0, np.abs(d).max(), np.abs(qp.b).max(initial=0.0))
    force = max(np.abs(qp.g).max(), np.abs(y).max(initial=0.0), np.abs(z).max()) or 1.0
    errors = qp.a @ d + qp.b
    assert np.abs(qp.B @ d + qp.g + y @ qp.a + z).max() <= tolerance * force
    assert (np.where(equality, np.abs(errors), errors) <= tolerance * length).all()
    assert (d >= lower).all() and (d <= upper).all()
    assert (y[~equality] >= 0.0).all()
    rows, variables = found.states[:m], found.states[m:]
    assert (rows[equality] == CORNER).all()
    assert (np.abs(errors[rows == CORNER]) <= tolerance * length).all()
    assert (y[rows == BELOW] == 0.0).all() and not (rows == ABOVE).any()
    np.testing.assert_array_equal(d[variables == BELOW], lower[variables == BELOW])
    np.testing.assert_array_equal(d[variables == ABOVE], upper[variables == ABOVE])
    assert (variables * z >= 0.0).all() and (z[variables == CORNER] == 0.0).all()


def proven_gap(qp: QP) -> float:
    """What is left of the sum of the constraints with the multipliers that prove them impossible."""
    solvable, _, y, z, _ = dual_solved(qp, SETTINGS)
    assert not solvable
    m = qp.b.size
    assert (y[qp.low[:m] == 0.0] >= 0.0).all()
    total = np.abs(y).sum() + np.abs(z).sum()
    assert np.abs(y @ qp.a + z).max() <= 1e-9 * total  # no function of the step
    bounds = np.where(z > 0.0, qp.high[m:], np.where(z < 0.0, qp.low[m:], 0.0))
    return float(y @ qp.b - z @ bounds) / total


def least_violation(qp: QP) -> float:
    """By linear programming: how far the worst row must be broken within the bounds."""
    n, m = qp.g.size, qp.b.size
    equality = qp.low[:m] < 0.0
    a, b = np.vstack([qp.a, -qp.a[equality]]), np.concatenate([qp.b, -qp.b[equality]])
    unit = max(np.abs(b).max(initial=0.0), 1e-9)
    found = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.column_stack([a, -np.ones(b.size)]),
        b_ub=-b / unit,
        bounds=[*zip(qp.low[m:] / unit, qp.high[m:] / unit, strict=True), (0.0, None)],
    )
    assert found.status == 0
    return float(found.fun) * unit


def test_random_qps_are_solved_or_proven_impossible():
    impossible = open_ = 0
    for seed in range(SEEDS):
        qp = draw(seed)
        found, certain = solve_dual(qp)
        if not certain:
            open_ += 1
        elif found is not None:
            assert_optimal(qp, found)
        else:
            impossible += 1
            assert proven_gap(qp) > 1e-9
            if impossible % 5 == 0:  # a peer, slower than all the rest
                assert least_violation(qp) > 1e-9
    assert SEEDS // 20 < impossible < SEEDS // 3
    assert open_ <= 2  # PIQP's: |d| of millions, where errors of 1e-9 are no more than rounding


@pytest.mark.parametrize("seed", range(40))
def test_the_library_finds_the_same_step(seed):
    qp = draw(seed)
    found, certain = solve_dual(qp)
    peer = Subproblem(qp.low[: qp.b.size] < 0.0, qp.g.size, 1.0)._library(qp)
    assert certain
    assert (found is None) == (peer is None)
    if found is not None:
        # PIQP asks for 1e-9 of the gradient; the least curvature turns that into a length
        slack = 1e-7 * np.abs(qp.g).max() / np.linalg.eigvalsh(qp.B)[0]
        np.testing.assert_allclose(found.d, peer.d, rtol=1e-6, atol=max(1e-7, slack))


@pytest.mark.parametrize("seed", range(60))
def test_its_active_set_is_a_guess_that_needs_one_system(seed):
    qp = draw(seed)
    found, _ = solve_dual(qp)
    corner = found is not None and found.states[: qp.b.size] == CORNER
    if found is None or (corner & (found.y == 0.0)).any():  # equalities that depend on others
        return
    again = solve_from_guess(qp, found.states, systems=1)
    assert again is not None
    size = max(1.0, np.abs(found.d).max())
    np.testing.assert_allclose(again.d, found.d, atol=1e-7 * size)


FREE = np.full(2, -np.inf), np.full(2, np.inf)
BOX = np.full(2, -9.0), np.full(2, 9.0)
SOLVABLE = {
    "nothing": (hard([1, 2], np.eye(2), [], [], [], *FREE), [-1, -2]),
    "one variable": (hard([1], [[2]], [], [], [], [-0.25], [np.inf]), [-0.25]),
    "the same row three times": (hard([-1, 0], np.eye(2), [[1, 0]] * 3, [-0.5] * 3, [0] * 3, *BOX), [0.5, 0]),
    "a row beside its bound": (hard([-9, 0], np.eye(2), [[1, 0]], [-9], [0], *BOX), [9, 0]),
    "a row tighter than its bound": (hard([-99, 0], np.eye(2), [[1, 0]], [-8], [0], *BOX), [8, 0]),
    "an equality twice": (hard([0, 0], np.eye(2), [[0.6, 0.8]] * 2, [-1, -1], [1, 1], *FREE), [0.6, 0.8]),
    "an equality and its negative": (
        hard([0, 0], np.eye(2), [[0.6, 0.8], [-0.6, -0.8]], [-1, 1], [1, 1], *FREE),
        [0.6, 0.8],
    ),
    "two rows that leave one value": (
        hard([-3, 1], np.eye(2), [[1, 0], [-1, 0]], [-1, 1], [0, 0], *FREE),
        [1, -1],
    ),
    "fixed variables": (hard([5, -5], np.eye(2), [[1, 0]], [-1], [1], [1, -2], [1, -2]), [1, -2]),
    "three rows through a corner": (
        hard([-2, -2], np.eye(2), [[1, 0], [0, 1], [0.6, 0.8]], [-1, -1, -1.4], [0] * 3, *FREE),
        [1, 1],
    ),
    "a row of zeros that holds": (hard([1, 1], np.eye(2), [[0, 0]], [-1], [0], *FREE), [-1, -1]),
    "a row that never ends": (hard([1, 1], np.eye(2), [[1, 0]], [-np.inf], [0], *FREE), [-1, -1]),
    "already there": (hard([0, 0], np.eye(2), [[1, 0], [0, 1]], [0, 0], [1, 0], *BOX), [0, 0]),
}
IMPOSSIBLE = {
    "two rows apart": hard([0.5], [[1]], [[1], [-1]], [1, 1], [0, 0], [-9], [9]),
    "two equalities apart": hard([0, 0], np.eye(2), [[1, 0], [1, 0]], [0, 1], [1, 1], *FREE),
    "a row beyond its bound": hard([0, 0], np.eye(2), [[-1, 0]], [10], [0], *BOX),
    "an equality beyond fixed variables": hard([0, 0], np.eye(2), [[0.6, 0.8]], [-2], [1], [1, 1], [1, 1]),
    "a row of zeros that does not hold": hard([1, 1], np.eye(2), [[0, 0]], [1], [0], *FREE),
    "more equalities than variables": hard([1], [[1]], [[1], [1]], [1, 2], [1, 1], [-np.inf], [np.inf]),
    "three rows without a common point": hard(
        [0, 0], np.eye(2), [[1, 0], [0, 1], [-0.6, -0.8]], [1, 1, -1], [0] * 3, *FREE
    ),
}


@pytest.mark.parametrize("name", SOLVABLE)
def test_degenerate_qps(name):
    qp, expected = SOLVABLE[name]
    found, certain = solve_dual(qp)
    assert certain
    np.testing.assert_allclose(found.d, expected, atol=1e-14)
    if np.isfinite(qp.b).all():
        assert_optimal(qp, found, 1e-14)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_contradictions(name):
    qp = IMPOSSIBLE[name]
    assert solve_dual(qp) == (None, True)
    assert proven_gap(qp) > 0.1


def test_a_contradiction_of_rounding_is_none():
    for noise in (1e-16, 1e-12):
        qp = hard([1, 1], np.eye(2), [[0.6, 0.8]] * 2, [-1, -1 + noise], [1, 1], *FREE)
        found, certain = solve_dual(qp)
        assert certain and found is not None
        assert abs(qp.a @ found.d + qp.b).max() <= 2.0 * noise


@pytest.mark.parametrize("spoilt", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["g", "B", "a", "b"])
def test_what_is_no_number_is_left_to_others(where, spoilt):
    qp = hard([1, 1], np.eye(2), [[0.6, 0.8]], [1], [1], *FREE)
    getattr(qp, where).flat[0] = spoilt
    assert solve_dual(qp) == (None, False)


def test_matrices_that_are_not_definite_and_crossed_bounds_are_left_to_others():
    assert solve_dual(hard([1, 1], np.diag([1.0, -1.0]), [], [], [], *BOX)) == (None, False)
    assert solve_dual(hard([1, 1], np.eye(2), [], [], [], BOX[1], BOX[0])) == (None, False)


def test_far_from_the_minimum_without_rows_no_digits_are_lost():
    # Without rows the step is 1e16 long; with them .01.
    qp = hard([-2, 0], np.diag([1e-16, 1e-10]), [[0.6, 0.8]], [-0.006], [0], [-1, 0], [np.inf, np.inf])
    found, certain = solve_dual(qp)
    assert certain
    np.testing.assert_allclose(found.d, [0.01, 0.0], rtol=1e-14)
    np.testing.assert_allclose(found.y, [2.0 / 0.6], rtol=1e-14)
    np.testing.assert_allclose(found.z, [0.0, -0.8 * 2.0 / 0.6], rtol=1e-14)


def test_impossible_rows_become_elastic_without_the_library(monkeypatch):
    qp = IMPOSSIBLE["two rows apart"]
    solver = Subproblem(np.zeros(2, dtype=bool), 1, 10.0)
    monkeypatch.setattr(solver, "_library", None)
    step = solver.solve(qp.g, qp.B, qp.a, qp.b, qp.low[2:], qp.high[2:])
    assert not step.met


def test_the_library_answers_where_rounding_leaves_it_open(monkeypatch):
    qp, expected = SOLVABLE["an equality twice"]
    monkeypatch.setattr("softpenalty.solve.sqp.subproblem.steering.solve_dual", lambda qp: (None, False))
    step = Subproblem(np.ones(2, dtype=bool), 2, 10.0).solve(qp.g, qp.B, qp.a, qp.b, *FREE)
    assert step.met
    np.testing.assert_allclose(step.d, expected, atol=1e-9)
