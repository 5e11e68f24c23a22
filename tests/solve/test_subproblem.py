"""The penalty QP: three ways to one solution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from softpenalty.solve.sqp.subproblem.active_set import solve_from_guess
from softpenalty.solve.sqp.subproblem.path import solve_path
from softpenalty.solve.sqp.subproblem.qp import BELOW, CORNER, QP
from softpenalty.solve.sqp.subproblem.steering import Subproblem


def random_qp(
    seed: int, n: int = 5, m: int = 6, nu: float = np.inf, equalities: int = 1
) -> tuple[QP, np.ndarray]:
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(n, n))
    a = rng.normal(size=(m, n))
    a /= np.linalg.norm(a, axis=1)[:, None]
    equality = np.arange(m) < equalities
    low = np.concatenate([np.where(equality, -nu, 0.0), np.full(n, -1.0)])
    high = np.concatenate([np.full(m, nu), np.full(n, 1.0)])
    # The rows hold at a point inside the box, so that the hard QP has a solution.
    b = -a @ rng.uniform(-0.5, 0.5, n) - np.where(equality, 0.0, rng.uniform(0.0, 0.3, m))
    return QP(3.0 * rng.normal(size=n), M @ M.T + 0.1 * np.eye(n), a, b, low, high), equality


def optimality(qp: QP, solution) -> float:
    """Largest breach of the optimality conditions."""
    m = qp.b.size
    d, y, z = solution.d, solution.y, solution.z
    errors = qp.a @ d + qp.b
    stationarity = np.abs(qp.B @ d + qp.g + y @ qp.a + z).max()
    # y is at its lower limit below the corner and at its upper one above
    corner = np.where(errors > 1e-7, np.minimum(qp.high[:m], 1e20) - y, 0.0)
    corner += np.where(errors < -1e-7, y - np.maximum(qp.low[:m], -1e20), 0.0)
    bounds = np.maximum(qp.low[m:] - d, d - qp.high[m:]).max()
    box = np.maximum(qp.low[:m] - y, y - qp.high[:m]).max()
    inside = (d > qp.low[m:] + 1e-7) & (d < qp.high[m:] - 1e-7)
    return float(max(stationarity, np.abs(corner).max(), bounds, box, np.abs(z[inside]).max(initial=0.0)))


@pytest.mark.parametrize("seed", range(20))
def test_path_and_active_set_solve_the_elastic_qp(seed):
    qp, _ = random_qp(seed, nu=2.0)
    path = solve_path(qp)
    assert path is not None
    assert optimality(qp, path) < 1e-6  # the path stops at 1e-11 relative, states are judged at 1e-7
    exact = solve_from_guess(qp, path.states)
    assert exact is not None
    assert optimality(qp, exact) < 1e-9
    np.testing.assert_allclose(exact.d, path.d, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_hard_qp_agrees_with_slsqp(seed):
    qp, equality = random_qp(seed)
    n = qp.g.size
    step = Subproblem(equality, n, 10.0).solve(qp.g, qp.B, qp.a, qp.b, np.full(n, -1.0), np.ones(n))
    assert step is not None and step.met
    limits = [
        LinearConstraint(qp.a[equality], -qp.b[equality], -qp.b[equality]),
        LinearConstraint(qp.a[~equality], -np.inf, -qp.b[~equality]),
    ]
    peer = minimize(
        lambda d: qp.g @ d + 0.5 * d @ qp.B @ d,
        np.zeros(n),
        jac=lambda d: qp.g + qp.B @ d,
        bounds=[(-1.0, 1.0)] * n,
        constraints=limits,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(step.d, peer.x, atol=1e-5)  # SLSQP's own accuracy
    assert np.abs(qp.B @ step.d + qp.g + step.y @ qp.a + step.z).max() < 1e-8


def test_a_right_guess_needs_one_system():
    qp, equality = random_qp(3)
    solver = Subproblem(equality, 5, 10.0)
    step = solver.solve(qp.g, qp.B, qp.a, qp.b, np.full(5, -1.0), np.ones(5))
    again = solve_from_guess(qp, solver._states, systems=1)
    assert again is not None
    np.testing.assert_allclose(again.d, step.d, atol=1e-10)


def test_dependent_rows_do_not_break_it():
    a = np.array([[1.0, 0.0]] * 3)
    qp = QP(
        np.array([-1.0, 0.0]), np.eye(2), a, np.full(3, -0.5), np.r_[np.zeros(3), -9, -9], np.full(5, 9.0)
    )
    equality = np.zeros(3, dtype=bool)
    step = Subproblem(equality, 2, 10.0).solve(qp.g, qp.B, a, qp.b, np.full(2, -9.0), np.full(2, 9.0))
    np.testing.assert_allclose(step.d, [0.5, 0.0], atol=1e-8)
    assert step.y.sum() == pytest.approx(0.5, abs=1e-7)


def test_rows_that_cannot_be_met_become_elastic():
    # d ≤ −1 and d ≥ 1: the penalty compromises, and says so.
    a, b = np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])
    solver = Subproblem(np.zeros(2, dtype=bool), 1, 10.0)
    step = solver.solve(np.array([0.5]), np.eye(1), a, b, np.array([-9.0]), np.array([9.0]))
    assert not step.met
    assert abs(step.d[0]) <= 1.0 + 1e-9
    assert (step.y <= solver.nu * (1.0 + 1e-9)).all()


def test_states_say_what_they_mean():
    qp = QP(np.array([1.0]), np.eye(1), np.zeros((0, 1)), np.zeros(0), np.array([-0.5]), np.array([9.0]))
    solution = solve_from_guess(qp, np.array([CORNER], dtype=np.int8))
    assert solution is not None
    assert solution.states[0] == BELOW and solution.d[0] == -0.5 and solution.z[0] == pytest.approx(-0.5)
