"""Bad input gets an error that names the call, the argument and the value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from softpenalty import Constraint, penalize

GOOD = {"sigma": 1.0, "alpha": 0.1}
FREE = Constraint(lambda x: x[0], "<")


def objective(x):
    return float(np.sum(x))


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"operator": "!"}, ValueError, ["Constraint(operator=...)", "'!'", "'<'", "'>='"]),
        ({"operator": None}, ValueError, ["Constraint(operator=...)", "None"]),
        ({"alpha": 0.0}, ValueError, ["Constraint(alpha=...)", "0.0", "positive"]),
        ({"alpha": [1.0, -1.0]}, ValueError, ["Constraint(alpha=...)", "-1.0"]),
        ({"alpha": np.nan}, ValueError, ["Constraint(alpha=...)", "nan"]),
        ({"sigma": -2.0}, ValueError, ["Constraint(sigma=...)", "-2.0"]),
        ({"sigma": "strong"}, TypeError, ["Constraint(sigma=...)", "'strong'"]),
        ({"target": np.nan}, ValueError, ["Constraint(target=...)", "nan"]),
        ({"target": [[1.0]]}, ValueError, ["Constraint(target=...)", "(1, 1)"]),
        ({"fun": 3.0}, TypeError, ["Constraint(fun=...)", "3.0"]),
        ({"jac": "4-point"}, ValueError, ["Constraint(jac=...)", "'4-point'", "'2-point'"]),
        ({"name": 7}, TypeError, ["Constraint(name=...)", "7"]),
        ({"hess": 7}, TypeError, ["Constraint(hess=...)", "7"]),
    ],
)
def test_constraint(arguments, kind, words):
    with pytest.raises(kind) as error:
        Constraint(**({"fun": lambda x: x[0], "operator": "<"} | arguments))
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"kernel": "soft"}, ValueError, ["penalize(kernel=...)", "'soft'", "'softplus'", "'huber'"]),
        ({"combination": "max"}, ValueError, ["penalize(combination=...)", "'max'", "'norm'"]),
        ({"sigma": -1.0}, ValueError, ["penalize(sigma=...)", "-1.0"]),
        ({"sigma": np.nan}, ValueError, ["penalize(sigma=...)", "nan"]),
        ({"alpha": 0.0}, ValueError, ["penalize(alpha=...)", "0.0"]),
        ({"add_quadratic": -1.0}, ValueError, ["penalize(add_quadratic=...)", "-1.0"]),
        ({"fun": 3}, TypeError, ["penalize(fun=...)", "3"]),
        ({"jac": 3}, ValueError, ["penalize(jac=...)", "3"]),
        ({"constraints": 3}, TypeError, ["penalize(constraints=...)", "3"]),
        ({"constraints": ["x < 3"]}, TypeError, ["penalize(constraints=...)", "'x < 3'"]),
        ({"constraints": {"type": "less", "fun": abs}}, ValueError, ["'eq' or 'ineq'", "'less'"]),
        ({"constraints": {"type": "eq"}}, TypeError, ["'fun'", "None"]),
        ({"constraints": LinearConstraint([[np.nan]], 0, 1)}, ValueError, ["LinearConstraint.A", "NaN"]),
        ({"constraints": NonlinearConstraint(abs, 2.0, 1.0)}, ValueError, ["lower limit", "2.0", "1.0"]),
        ({"constraints": NonlinearConstraint(abs, np.nan, 1.0)}, ValueError, ["constraints", "NaN"]),
        (
            {"constraints": [Constraint(abs, "<", name="a"), Constraint(abs, ">", name="a")]},
            ValueError,
            ["different names", "'a'"],
        ),
        ({"bounds": [(1.0, 0.0)]}, ValueError, ["penalize(bounds=...)", "[1.0]", "[0.0]"]),
        ({"bounds": [(np.nan, 0.0)]}, ValueError, ["penalize(bounds=...)", "NaN"]),
        ({"bounds": 7}, TypeError, ["penalize(bounds=...)", "7"]),
    ],
)
def test_penalize(arguments, kind, words):
    with pytest.raises(kind) as error:
        penalize(**({"fun": objective, "constraints": FREE} | GOOD | arguments))
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    ("arguments", "x", "words"),
    [
        ({}, [np.nan, 1.0], ["Penalty(x)", "nan"]),
        ({}, [[1.0, 2.0]], ["Penalty(x)", "(1, 2)"]),
        ({"sigma": None}, [1.0, 2.0], ["penalize(sigma=...)", "constraint 0 < 0", "recommend"]),
        ({"alpha": None}, [1.0, 2.0], ["penalize(alpha=...)", "constraint 0 < 0"]),
        ({"sigma": [1.0, 2.0]}, [1.0, 2.0], ["penalize(sigma=...)", "1 rows", "(2,)"]),
        (
            {"bounds": Bounds([0.0] * 3, [1.0] * 3)},
            [1.0, 2.0],
            ["penalize(bounds=...)", "2 variables", "(3,)"],
        ),
        ({"fun": lambda x: x}, [1.0, 2.0], ["penalize(fun=...)", "one number", "(2,)"]),
        ({"jac": lambda x: [1.0]}, [1.0, 2.0], ["penalize(jac=...)", "2 derivatives", "(1,)"]),
        ({"jac": True}, [1.0, 2.0], ["jac=True", "gradient"]),
        ({"constraints": Constraint(lambda x: np.eye(2), "<", name="m")}, [1.0, 2.0], ["'m'", "(2, 2)"]),
        (
            {"constraints": Constraint(lambda x: x, "<", [1.0] * 3, name="m")},
            [1.0, 2.0],
            ["target", "'m'", "(3,)"],
        ),
        (
            {"constraints": Constraint(lambda x: x, "<", jac=lambda x: np.ones((3, 2)), name="m")},
            [1.0, 2.0],
            ["jac of 'm'", "(2, 2)", "(3, 2)"],
        ),
    ],
)
def test_at_the_first_point(arguments, x, words):
    p = penalize(**({"fun": objective, "constraints": FREE} | GOOD | arguments))
    with pytest.raises(ValueError) as error:
        p.gradient(x)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_length_that_changes_later():
    p = penalize(objective, Constraint(lambda x: x[x > 0.0], "<", name="shrinking"), **GOOD)
    p([1.0, 2.0])
    with pytest.raises(ValueError, match=r"'shrinking' returned 1 values, but 2 before"):
        p([1.0, -2.0])


def test_a_number_of_variables_that_changes_later():
    p = penalize(objective, FREE, **GOOD)
    p([1.0, 2.0])
    with pytest.raises(ValueError, match="x has 3 variables, but had 2 before"):
        p([1.0, 2.0, 3.0])


def test_populations_of_the_wrong_shape():
    p = penalize(lambda x: x.sum(), FREE, vectorized=True, **GOOD)
    with pytest.raises(ValueError, match=r"vectorized=True must return shape \(4,\)"):
        p(np.ones((2, 4)))
    q = penalize(lambda x: x.sum(axis=0), Constraint(lambda x: 1.0, "<", name="c"), vectorized=True, **GOOD)
    with pytest.raises(ValueError, match=r"'c' must return shape \(k, 4\)"):
        q(np.ones((2, 4)))
    with pytest.raises(ValueError, match="one point"):
        penalize(lambda x: x.sum(axis=0), FREE, vectorized=True, **GOOD).gradient(np.ones((2, 4)))


def test_rows_before_the_first_point():
    with pytest.raises(ValueError, match="first evaluation"):
        _ = penalize(objective, FREE, **GOOD).labels


def test_users_own_exceptions_pass_through():
    p = penalize(lambda x: 1 / 0, FREE, **GOOD)
    with pytest.raises(ZeroDivisionError):
        p([1.0])
