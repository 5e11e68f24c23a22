"""Where an attempt is stuck outside the rows: the least violation nearby, and what it certifies."""

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
from softpenalty.solve.sqp.restoration import restore
from softpenalty.solve.sqp.state import SECOND
from softpenalty.solve.status import Status
from softpenalty.solve.tolerances import Tolerances
from softpenalty.solve.watch import Watch

CENTRES = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
BALLS = np.random.default_rng(3).uniform(-5.0, 5.0, (30, 4))


def product(x):
    return x[0] * x[1]


def disc(centre, power):
    return Constraint(lambda x: np.sum((x - centre) ** 2) ** (power / 2), "<", 1.0)


ROOM = [
    Constraint(product, ">", 60.0, name="area"),
    Constraint(lambda x: 2.0 * (x[0] + x[1]), "<", 28.0, name="perimeter"),
    Constraint(lambda x: x[0] - 2.0 * x[1], "<", 0.0, name="ratio"),
]
UNITS = [
    Constraint(lambda x: 1e6 * product(x), ">", 60e6, name="area"),
    Constraint(lambda x: 2e-4 * (x[0] + x[1]), "<", 28e-4, name="perimeter"),
]
SIDES = [(3.0, 12.0), (1.0, 20.0)]
# Objective, bounds, rows: no point meets all of them.
INFEASIBLE = {
    "room": (lambda x: 40.0 * x[0] + 60.0 * x[1], SIDES, ROOM),
    "room in other units": (lambda x: 40.0 * x[0] + 60.0 * x[1], SIDES, UNITS),
    "distances": (lambda x: x[0] + 2.0 * x[1], [(-6.0, 6.0)] * 2, [disc(c, 1) for c in CENTRES]),
    "squares": (lambda x: x[0] + 2.0 * x[1], [(-6.0, 6.0)] * 2, [disc(c, 2) for c in CENTRES[:2]]),
    "equalities": (
        lambda x: x[0] ** 2 + 3.0 * x[1],
        [(-4.0, 4.0)] * 2,
        [Constraint(lambda x: x @ x, "=", 1.0), Constraint(lambda x: x.sum(), "=", 3.0)],
    ),
    "box": (
        lambda x: x.sum(),
        [(1.0, 30.0)] * 3,
        [
            Constraint(lambda x: x.prod(), ">", 1000.0),
            Constraint(lambda x: 2.0 * (x[0] * x[1] + x[1] * x[2] + x[0] * x[2]), "<", 500.0),
        ],
    ),
    "thirty balls": (
        lambda x: x.sum(),
        [(-6.0, 6.0)] * 4,
        [Constraint(lambda x: np.sqrt(np.sum((x - BALLS) ** 2, axis=1)), "<", 3.0)],
    ),
}


@pytest.mark.parametrize("name", INFEASIBLE)
def test_curved_conflicts_are_recognised_from_any_start(name):
    fun, bounds, rows = INFEASIBLE[name]
    for x0 in np.random.default_rng(7).uniform(*np.transpose(bounds), (10, len(bounds))):
        result = minimize(fun, x0, bounds=bounds, constraints=rows)
        assert result.status == Status.INFEASIBLE.number, (x0, result.message)
        assert result.conflict and result.maxcv > 0.0


def test_what_must_give_way_is_read_where_the_violation_is_least():
    """The largest area with a perimeter of 28 is 49, the least perimeter of an area of 60 is 4·√60."""
    told = []
    for x0 in np.random.default_rng(7).uniform(*np.transpose(SIDES), (10, 2)):
        result = minimize(INFEASIBLE["room"][0], x0, bounds=SIDES, constraints=ROOM[:2])
        assert result.conflict == ["area > 60", "perimeter < 28"]
        told.append([result.relaxation[label] for label in result.conflict])
    # To first order, from where the sum of both violations is least, which favours one of the two.
    np.testing.assert_allclose(np.median(told, axis=0), [11.0, 4.0 * np.sqrt(60.0) - 28.0], rtol=0.1)


def attempt_at(x, constraints, limit=300):
    blocks = read_constraints("minimize", constraints)
    evaluation = Evaluation("minimize", lambda x: 1e3 * x[0], blocks, forgiving=True)
    evaluation.values(x)
    rows, free = stack_rows("minimize", blocks, evaluation.sizes), np.full(x.size, np.inf)
    model = Model(evaluation, rows, -free, free, x)
    watch = Watch(limit, np.inf, np.inf, lambda: evaluation.nfev)
    attempt = Attempt(model, SECOND, SecantCurvature(x.size, model.m), Tolerances(), watch, 0)
    watch.keep(attempt.blank(), (np.inf,))
    return attempt


@pytest.mark.parametrize("seed", range(5))
def test_where_the_rows_can_hold_they_do(seed):
    x = np.random.default_rng(seed).uniform(1.0, 9.0, 2)
    attempt = attempt_at(x, [Constraint(product, "=", 6.0), Constraint(lambda x: x @ x, "<", 15.0)])
    assert restore(attempt) == (None, None)
    point = attempt.state.point
    assert product(point.x * attempt.model.units) == pytest.approx(6.0, abs=1e-7)
    assert attempt.model.worst(point) <= 1e-8
    assert attempt.best.point is point and np.isfinite(point.g).all()


def test_it_ends_with_the_iterations_allowed():
    attempt = attempt_at(np.array([9.0, 0.5]), [Constraint(product, "=", 40.0), disc(CENTRES[0], 2)], limit=2)
    status, certificate = restore(attempt)
    assert status is Status.ITERATION_LIMIT and certificate is None
    assert len(attempt.watch.rows) == 2
