"""Infeasible is said only after other places were looked at, and never of these feasible problems."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import Constraint
from softpenalty.problem.canonical import stack_rows
from softpenalty.problem.evaluation import Evaluation
from softpenalty.problem.scipy_forms import read_constraints
from softpenalty.solve.minimize import minimize
from softpenalty.solve.sqp.curvature.secant import SecantCurvature
from softpenalty.solve.sqp.loop import Attempt
from softpenalty.solve.sqp.model import Model
from softpenalty.solve.sqp.recovery import look_elsewhere
from softpenalty.solve.sqp.state import FIRST
from softpenalty.solve.status import Status
from softpenalty.solve.tolerances import Tolerances
from softpenalty.solve.watch import Watch


def distance(x):
    return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2


@pytest.mark.parametrize("jac", [None, lambda x: np.array([2.0 * (x[0] - 2.0), 2.0 * (x[1] - 1.0)])])
@pytest.mark.parametrize(
    "row",
    [
        Constraint(lambda x: x[0] * x[1], ">", 1.0),
        Constraint(lambda x: x[0] ** 2 + x[1] ** 2, ">", 2.0),
        Constraint(lambda x: x[0] * x[1], ">", 1.0, jac=lambda x: np.array([x[1], x[0]])),
        Constraint(lambda x: x[0] ** 2 + x[1] ** 2, ">", 2.0, jac=lambda x: 2.0 * x),
    ],
)
@pytest.mark.parametrize("start", [[0.0, 0.0], [1e-9, -1e-9], [1e-4, 0.0]])
def test_flat_violated_row_at_the_start(row, start, jac):
    result = minimize(distance, start, jac=jac, constraints=row)
    assert result.success, result.message
    if not any(start):  # elsewhere the nearest way out may lead to the other local minimum
        np.testing.assert_allclose(result.x, [2.0, 1.0], atol=1e-5)


def test_objective_that_does_not_help_off_a_flat_point():
    """Nothing but the look around finds the way: objective and row are flat at the start."""
    result = minimize(
        lambda x: x[1] ** 2,
        [0.0, 0.0],
        jac=lambda x: np.array([0.0, 2.0 * x[1]]),
        constraints=Constraint(lambda x: x[0] ** 2, ">", 1.0, jac=lambda x: np.array([2.0 * x[0], 0.0])),
    )
    assert result.success, result.message
    assert abs(result.x[0]) >= 1.0 - 1e-8


def test_conflict_is_named_and_the_least_violated_point_returned():
    seen = []

    def radius(x):
        seen.append(max(0.0, 2.0 - x @ x, x @ x - 1.0))
        return x @ x

    rows = [
        Constraint(radius, ">", 2.0, name="outside"),
        Constraint(lambda x: x @ x, "<", 1.0, name="inside"),
    ]
    result = minimize(lambda x: x[0], [0.3, 0.0], bounds=[(-3.0, 3.0)] * 2, constraints=rows)
    assert result.status == Status.INFEASIBLE.number
    assert sorted(result.conflict) == ["inside < 1", "outside > 2"]
    assert result.maxcv <= min(seen) + 1e-6  # differences, whose points are seen too, go that far


def test_row_without_derivative_is_no_reason_to_divide_by_zero():
    row = Constraint(lambda x: 1.0 + 0.0 * x[0], "<", 0.0, name="never")
    result = minimize(lambda x: x @ x, [1.0, 1.0], constraints=row)
    assert result.status == Status.INFEASIBLE.number
    assert result.maxcv == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_infeasible_convex_problems_are_recognised(seed):
    """Two discs that do not meet."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=3)
    centre *= 3.0 / np.linalg.norm(centre)
    rows = [
        Constraint(lambda x: x @ x, "<", 1.0, jac=lambda x: 2.0 * x),
        Constraint(lambda x: (x - centre) @ (x - centre), "<", 1.0, jac=lambda x: 2.0 * (x - centre)),
    ]
    result = minimize(lambda x: x[0], 3.0 * rng.normal(size=3), jac=lambda x: np.eye(3)[0], constraints=rows)
    assert result.status == Status.INFEASIBLE.number
    assert result.nfev <= 150


@pytest.fixture
def attempt():
    """An attempt whose best point is feasible, and which has gone to another one since."""
    blocks = read_constraints("minimize", Constraint(lambda x: x @ x, "<", 1.0))
    evaluation = Evaluation("minimize", lambda x: x[0], blocks, forgiving=True)
    x = np.array([0.3, 0.2])
    evaluation.values(x)
    rows = stack_rows("minimize", blocks, evaluation.sizes)
    model = Model(evaluation, rows, np.full(2, -np.inf), np.full(2, np.inf), x)
    watch = Watch(300, np.inf, np.inf, lambda: evaluation.nfev)
    attempt = Attempt(model, FIRST, SecantCurvature(2, 1), Tolerances(), watch, 0)
    watch.keep(attempt.blank(), 0)  # the start, which is feasible
    attempt.state.point = model.at(np.array([3.0, 3.0]))
    assert model.differentiate(attempt.state.point)
    return attempt


def test_nothing_is_infeasible_once_a_feasible_point_was_seen(attempt):
    assert attempt.end(Status.INFEASIBLE).status is Status.NO_PROGRESS


def test_a_search_stuck_outside_goes_back_to_its_feasible_point(attempt):
    best, usual = attempt.best.point, attempt.state.B[0, 0]
    assert look_elsewhere(attempt, Status.INFEASIBLE)
    assert attempt.state.point is best
    assert attempt.state.B[0, 0] > usual  # stiffer, so that it does not take the same way again


def test_a_search_stuck_where_the_rows_hold_has_nowhere_to_go(attempt):
    assert not look_elsewhere(attempt, Status.NO_PROGRESS)
