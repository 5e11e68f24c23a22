"""Components that are free by their limits: evaluated, compared with nothing, without a row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, NonlinearConstraint

from softpenalty import Constraint, minimize, penalize

INF = np.inf


def distance(x):
    return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2


def both(x):
    return np.array([x[0], x[0] + x[1]])


MATRIX = np.array([[1.0, 0.0], [1.0, 1.0]])
FORMS = {
    "last free": Constraint(both, "<", [0.5, INF]),
    "first free": Constraint(lambda x: both(x)[::-1], "<", [INF, 0.5]),
    "last free, jac": Constraint(both, "<", [0.5, INF], jac=lambda x: MATRIX),
    "> free": Constraint(lambda x: -both(x), ">", [-0.5, -INF]),
    "linear": LinearConstraint(MATRIX, [-INF, -INF], [0.5, INF]),
    "linear sparse": LinearConstraint(sparse.csr_array(MATRIX), -INF, [0.5, INF]),
    "linear, first free": LinearConstraint(MATRIX[::-1], -INF, [INF, 0.5]),
    "nonlinear": NonlinearConstraint(both, -INF, [0.5, INF], jac=lambda x: sparse.csr_array(MATRIX)),
    "several": [Constraint(both, "<", [0.5, INF]), Constraint(both, ">", -INF, name="nothing")],
}


@pytest.mark.parametrize("method", ["sqp", "multiplier"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_free_components_have_no_row_and_no_multiplier(form, method):
    result = minimize(distance, [3.0, -1.0], constraints=form, method=method)
    assert result.success, result.message
    np.testing.assert_allclose(result.x, [0.5, 1.0], atol=1e-5)
    assert len(result.labels) == len(result.multiplier_vector) == 1
    multipliers = np.sort(np.abs(result.multipliers["constraint 0"]))
    np.testing.assert_allclose(multipliers, [0.0, 3.0], atol=1e-4)  # of the free one and of x0 < 0.5


@pytest.mark.parametrize("method", ["sqp", "penalty", "multiplier"])
@pytest.mark.parametrize(
    "form",
    [
        Constraint(both, "<", INF),
        Constraint(both, ">", [-INF, -INF]),
        LinearConstraint(MATRIX, -INF, INF),
        NonlinearConstraint(both, [-INF, -INF], INF),
    ],
    ids=["<", ">", "linear", "nonlinear"],
)
def test_everything_free_is_unconstrained(form, method):
    result = minimize(distance, [3.0, -1.0], constraints=form, method=method)
    assert result.success, result.message
    np.testing.assert_allclose(result.x, [2.0, 1.0], atol=1e-5)
    np.testing.assert_array_equal(result.multipliers["constraint 0"], [0.0, 0.0])
    assert result.labels == []


def test_second_derivatives_see_the_weights_of_the_rows_that_are_there():
    weights = []

    def hess(x, v):
        weights.append(v)
        return 2.0 * v[0] * np.eye(2)

    disc = Constraint(lambda x: [x @ x, x[0]], "<", [1.0, INF], jac=lambda x: [2 * x, [1.0, 0.0]], hess=hess)
    result = minimize(
        distance,
        [3.0, -1.0],
        jac=lambda x: 2.0 * (x - [2.0, 1.0]),
        hess=lambda x: 2.0 * np.eye(2),
        constraints=disc,
    )
    assert result.success
    np.testing.assert_allclose(result.x, np.array([2.0, 1.0]) / np.sqrt(5.0), atol=1e-6)
    assert weights and all(v[1] == 0.0 for v in weights)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_penalize(form):
    p = penalize(distance, form, sigma=6.0, alpha=0.1, kernel="algebraic")
    x = np.array([0.8, 0.3])
    assert p.errors(x).shape == (1,)
    differences = [(p(x + h) - p(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    # forward differences of functions of size 10 know a slope to about 1e-7
    np.testing.assert_allclose(p.gradient(x), differences, atol=3e-7)


@pytest.mark.parametrize(
    ("operator", "target"), [("=", INF), ("=", [0.0, -INF]), ("<", -INF), (">", [INF, 0.0]), ("==", INF)]
)
def test_targets_that_no_value_meets(operator, target):
    with pytest.raises(ValueError, match=r"`Constraint\(target=...\)` with operator '[<=>]' must not be"):
        Constraint(both, operator, target)
