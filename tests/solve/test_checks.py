"""What is looked at before a solve when the user asks for it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, OptimizeWarning, rosen, rosen_der

from softpenalty import Constraint, minimize

START = [-1.2, 1.0, 0.3]


def told(**arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        minimize(x0=START, check_gradients=True, **({"fun": rosen} | arguments))
    assert all(w.category is OptimizeWarning and w.filename == __file__ for w in caught)
    return [str(w.message).removeprefix("`minimize(check_gradients=True)`: ") for w in caught]


def test_right_derivatives_are_not_spoken_of():
    rows = [
        Constraint(lambda x: [x @ x, x[0]], "<", [5.0, 2.0], jac=lambda x: [2.0 * x, [1.0, 0.0, 0.0]]),
        LinearConstraint(np.array([[1.0, 2.0, 0.0]]), -9.0, 9.0),
        Constraint(lambda x: x[2] ** 3, "<", 5.0),
    ]
    assert told(jac=rosen_der, constraints=rows) == []
    assert told(fun=lambda x: (rosen(x), rosen_der(x)), jac=True) == []


def test_the_worst_entry_is_named():
    wrong = rosen_der(np.array(START)) * [1.0, -1.0, 1.0]
    (message,) = told(jac=lambda x: wrong)
    assert message == (
        "the derivative of the objective with respect to x[1] is -192 at the start; differences give 192."
    )
    row = Constraint(
        lambda x: [x @ x, x[0] ** 2], "<", 5.0, jac=lambda x: [2.0 * x, [2.002 * x[0], 0.0, 0.0]], name="c"
    )
    (message,) = told(jac=rosen_der, constraints=row)
    assert message == (
        "the derivative of 'c[1]' with respect to x[0] is -2.4024 at the start; differences give -2.4."
    )


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({"flat": lambda x: 3.0}, "'flat' does not change with any variable at the start."),
        (
            {"large": lambda x: 1e12 * x[0], "small": lambda x: x[1]},
            "'large' changes 1e+12 times as much as 'small' at the start: use units in which they are alike.",
        ),
        (
            {"one": lambda x: x @ x, "other": lambda x: 4.0 * (x @ x) - 4.0 * 5.0 + 5.0},
            "'other < 5' and 'one < 5' are the same at the start.",
        ),
    ],
)
def test_odd_constraints_are_named(functions, words):
    rows = [Constraint(function, "<", 5.0, name=name) for name, function in functions.items()]
    assert words in told(jac=rosen_der, constraints=rows)


def test_nothing_is_looked_at_unless_asked_for():
    row = Constraint(lambda x: 3.0, "<", 5.0)
    minimize(rosen, START, jac=lambda x: -rosen_der(x), constraints=row, maxiter=3)
