"""What `tol` and `constraint_tol` mean, and the tests of a point that follow from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softpenalty import Constraint, minimize
from softpenalty.solve.status import Status
from softpenalty.solve.tolerances import Measure, Tolerances, converged
from softpenalty.solve.watch import Watch


def test_defaults_are_kept_where_nothing_is_asked():
    assert Tolerances.at(None, None) == Tolerances()
    assert Tolerances.at(1e-6, 1e-8) == Tolerances()


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_tol_is_the_stationarity_and_leaves_the_feasibility(tol):
    moved = Tolerances.at(tol, None)
    assert moved.stationarity == tol
    assert (moved.feasibility, moved.distance) == (Tolerances().feasibility, Tolerances().distance)
    looser = tol > Tolerances().stationarity
    assert (moved.complementarity > Tolerances().complementarity) is looser
    assert (moved.objective > Tolerances().objective) is looser
    assert moved.step <= Tolerances().step


@pytest.mark.parametrize("constraint_tol", [1e-3, 1e-12])
def test_constraint_tol_is_the_feasibility_and_leaves_the_stationarity(constraint_tol):
    moved = Tolerances.at(None, constraint_tol)
    assert moved.feasibility == constraint_tol
    assert (moved.distance > Tolerances().distance) is (constraint_tol > Tolerances().feasibility)
    assert replace(moved, feasibility=1e-8, distance=Tolerances().distance) == Tolerances()


def test_nothing_is_asked_beyond_double_precision():
    finest = Tolerances.at(1e-15, 1e-15)
    assert finest.objective >= 1e-15
    assert finest.complementarity >= 1e-9
    assert finest.distance >= 1e-14


def test_a_residual_of_rho_leaves_a_fall_of_rho_squared():
    usual = Tolerances().objective
    assert Tolerances.at(1e-8, None).objective == pytest.approx(1e-4 * usual, rel=1e-9, abs=0.0)
    # but a loose tol does not let the objective go by its square
    assert Tolerances.at(1e-4, None).objective == pytest.approx(1e2 * usual, rel=1e-9, abs=0.0)


def good_but(**numbers):
    """What the tests see at a solution, with some numbers changed."""
    solved = dict.fromkeys(("violation", "distance", "stationarity", "predicted", "curved", "step"), 0.0)
    return Measure(**solved | numbers)


@pytest.mark.parametrize("name", ["violation", "distance", "stationarity"])
def test_each_of_three_is_needed_to_converge(name):
    limit = getattr(Tolerances(), {"violation": "feasibility"}.get(name, name))
    assert converged(good_but(), Tolerances())
    assert converged(good_but(**{name: limit}), Tolerances())
    assert not converged(good_but(**{name: 2.0 * limit}), Tolerances())


def test_a_fall_or_a_step_may_be_left_but_not_both():
    assert converged(good_but(predicted=1e-5), Tolerances())
    assert converged(good_but(step=1e-5), Tolerances())
    assert not converged(good_but(predicted=1e-5, step=1e-5), Tolerances())
    assert not converged(good_but(step=1e-5, curved=1e-5), Tolerances())
    # a negative prediction is rounding when it is as small as that
    assert converged(good_but(step=1e-5, predicted=-1e-10), Tolerances())
    assert not converged(good_but(step=1e-5, predicted=-1e-5), Tolerances())


@pytest.mark.parametrize(
    "limits, status",
    [
        ((5, np.inf, np.inf), Status.ITERATION_LIMIT),
        ((6, 10, np.inf), Status.EVALUATION_LIMIT),
        ((6, 11, 0.0), Status.TIME_LIMIT),
        ((6, 11, np.inf), None),
    ],
)
def test_limits(limits, status):
    assert Watch(*limits, lambda: 10).reached(5) is status


def slow(**arguments):
    """(x − 1)⁴ + (y − 2)⁴: every step takes off a third of the distance, so that each digit costs."""
    return minimize(
        lambda x: (x[0] - 1.0) ** 4 + (x[1] - 2.0) ** 4,
        [3.0, -2.0],
        jac=lambda x: 4.0 * (x - [1.0, 2.0]) ** 3,
        **arguments,
    )


def test_a_looser_tol_costs_less_and_a_tighter_one_is_more_exact():
    loose, usual, tight = slow(tol=1e-2), slow(), slow(tol=1e-10)
    assert loose.success
    assert usual.success
    assert tight.success
    assert loose.nit < usual.nit < tight.nit
    assert loose.kkt["stationarity"] > usual.kkt["stationarity"] > tight.kkt["stationarity"]
    assert tight.kkt["stationarity"] <= 1e-10


def touching(**arguments):
    """x² = 0: every step halves x, so that each digit of the violation costs."""
    square = Constraint(lambda x: x[0] ** 2, "=", 0.0, jac=lambda x: [2.0 * x[0], 0.0])
    return minimize(
        lambda x: x[1] ** 2, [3.0, 1.0], jac=lambda x: [0.0, 2.0 * x[1]], constraints=square, **arguments
    )


def test_a_looser_constraint_tol_accepts_a_violation():
    loose, usual = touching(options={"constraint_tol": 1e-2}), touching()
    assert loose.success
    assert usual.success
    assert usual.maxcv <= 1e-8 < loose.maxcv <= 1e-2
    assert loose.nit < usual.nit
