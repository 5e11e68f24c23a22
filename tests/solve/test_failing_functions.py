"""Functions that fail at some points are forgiven wherever they fail; mistakes in the program never are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, NonlinearConstraint, rosen, rosen_der, rosen_hess
from scipy.sparse.linalg import aslinearoperator

from softpenalty import Constraint, minimize, penalize
from softpenalty.solve.status import Status

START = [-1.2, 1.0]
ROSEN = {"fun": rosen, "x0": START, "jac": rosen_der}


def disc(hess, **more):
    return NonlinearConstraint(
        lambda x: [x @ x], -np.inf, 1.5, jac=lambda x: 2.0 * x[None], hess=hess, **more
    )


def model(x):
    return x[0] - 10.0 * math.log(x[0])  # ValueError: math domain error


def slope(x):
    return [1.0 - 10.0 / x[0]]


@pytest.mark.parametrize(
    ("arguments", "solution"),
    [
        ({"fun": lambda x: (model(x), slope(x)), "jac": True}, 10.0),
        ({"fun": model, "jac": slope}, 10.0),
        ({"fun": model}, 10.0),
        ({"fun": lambda x: x[0], "constraints": Constraint(model, "<", 0.0)}, 1.1183256),
    ],
    ids=["jac=True", "jac", "differences", "constraint"],
)
def test_an_error_of_the_simulation_is_forgiven(arguments, solution):
    result = minimize(x0=[500.0], **arguments)  # the first step leads to the other side of 0
    assert result.success, result.message
    assert result.x == pytest.approx([solution], rel=1e-5)  # the minimum is flat: √(1e-10)
    assert result.failures > 0


@pytest.mark.parametrize("returned", [3.0, (3.0,), (3.0, [1.0], 2.0)], ids=["one", "short", "long"])
def test_with_the_gradient_the_wrong_number_of_results_is_an_error(returned):
    with pytest.raises(
        ValueError, match=r"`minimize\(jac=True\)`: `fun` must return the objective and its grad"
    ):
        minimize(lambda x: returned, [1.0], jac=True)


def test_a_gradient_that_is_no_array_of_numbers_is_an_error():
    with pytest.raises(ValueError, match=r"`minimize\(jac=\.\.\.\)` must return numbers"):
        minimize(lambda x: (x @ x, [[1.0], [1.0, 2.0]]), START, jac=True)
    with pytest.raises(ValueError, match=r"`minimize`: the jac of 'c' must return numbers"):
        minimize(rosen, START, constraints=Constraint(rosen, "<", jac=lambda x: [[1.0], "a"], name="c"))


@pytest.mark.parametrize("mistake", [AssertionError, TypeError, NameError])
@pytest.mark.parametrize("place", ["fun", "jac", "hess", "constraint", "constraint jac", "constraint hess"])
def test_mistakes_pass_through_from_everywhere(mistake, place):
    def wrong(*args):
        raise mistake("typo")

    functions = {"fun": rosen, "jac": rosen_der, "hess": rosen_hess}
    parts = {
        "": lambda x: [x @ x],
        "jac": lambda x: 2.0 * x[None],
        "hess": lambda x, v: 2.0 * v[0] * np.eye(2),
    }
    (parts if place.startswith("constraint") else functions)[place.removeprefix("constraint").strip()] = wrong
    form = NonlinearConstraint(parts[""], -np.inf, 0.5, jac=parts["jac"], hess=parts["hess"])
    with pytest.raises(mistake, match="typo"):
        minimize(x0=START, constraints=form, **functions)


def test_second_derivatives_are_counted():
    calls = []
    result = minimize(**ROSEN, hess=lambda x: calls.append(1) or rosen_hess(x))
    assert result.success and result.nhev == len(calls) > 0
    assert minimize(**ROSEN).nhev == minimize(**ROSEN, method="multiplier").nhev == 0
    assert minimize(lambda x: np.nan, [1.0]).nhev == 0


@pytest.mark.parametrize("constraints", [(), disc(lambda x, v: 2.0 * v[0] * np.eye(2))], ids=["free", "disc"])
def test_second_derivatives_that_always_fail_cost_no_more_than_none(constraints):
    def fails(x):
        raise ValueError("no second derivative")

    plain = minimize(**ROSEN, constraints=constraints)
    result = minimize(**ROSEN, hess=fails, constraints=constraints)
    assert result.success, result.message
    assert result.failures == result.nhev > 0
    assert (result.nfev, result.njev) == (plain.nfev, plain.njev)


def test_second_derivatives_that_fail_at_some_points():
    calls = []

    def sometimes(x):
        calls.append(1)
        if len(calls) % 3 == 0:
            raise FloatingPointError("overflow")
        return rosen_hess(x)

    result = minimize(**ROSEN, hess=sometimes)
    assert result.success and result.failures == len(calls) // 3 > 0


def test_a_constraints_second_derivative_that_fails():
    def fails(x, v):
        raise ArithmeticError

    result = minimize(**ROSEN, hess=rosen_hess, constraints=disc(fails))
    assert result.success and result.failures > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"hess": lambda x: np.eye(3)},
            r"`minimize\(hess=\.\.\.\)` must return shape \(2, 2\); got \(3, 3\)",
        ),
        ({"hess": lambda x: [1.0, 2.0]}, r"`minimize\(hess=\.\.\.\)` must return shape \(2, 2\); got \(2,\)"),
        ({"hess": lambda x: [[1.0], [1.0, 2.0]]}, r"`minimize\(hess=\.\.\.\)` must return numbers"),
        (
            {"hess": rosen_hess, "constraints": disc(lambda x, v: np.ones(2))},
            r"`minimize`: the hess of 'constraint 0' must return shape \(2, 2\); got \(2,\)",
        ),
    ],
)
def test_second_derivatives_of_the_wrong_shape(arguments, message):
    with pytest.raises(ValueError, match=message):
        minimize(**ROSEN, **arguments)


@pytest.mark.parametrize("kind", [sparse.csr_array, aslinearoperator, np.ndarray.tolist])
def test_second_derivatives_in_every_form_of_scipys(kind):
    plain = minimize(**ROSEN, hess=rosen_hess)
    result = minimize(**ROSEN, hess=lambda x: kind(rosen_hess(x)))
    assert result.success and result.nhev == plain.nhev
    np.testing.assert_array_equal(result.x, plain.x)
    one = minimize(lambda x: (x[0] - 1.0) ** 4, [3.0], jac=lambda x: [4.0 * (x[0] - 1.0) ** 3],
                   hess=lambda x: 12.0 * (x[0] - 1.0) ** 2)  # fmt: skip
    assert one.success and one.nhev > 0


# Complex values -----------------------------------------------------------------------------------------


def root(x):
    return x[0] + complex(10.0 - x[0]) ** 0.5 * 4.0  # a maximum at 6; complex from 10 on


def test_complex_values_are_points_that_failed():
    result = minimize(lambda x: -root(x), [9.5])
    assert result.success and result.x == pytest.approx([6.0], abs=1e-4)
    far = minimize(lambda x: -root(x), [9.0], constraints=Constraint(lambda x: root(x) * 1j * -1j, ">", 0.0))
    assert far.success and far.x == pytest.approx([6.0], abs=1e-4)
    nowhere = minimize(lambda x: x[0] + 1j, [1.0])
    assert nowhere.status == Status.INVALID_START.number
    assert "`minimize(fun=...)` must return real numbers" in nowhere.message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"fun": lambda x: 1j + x[0]}, "penalize(fun=...)` must return real numbers"),
        ({"jac": lambda x: x * 1j}, "penalize(jac=...)` must return real numbers"),
        ({"constraints": Constraint(lambda x: x * 1j, "<")}, "'constraint 0' must return real numbers"),
        (
            {"constraints": Constraint(lambda x: x, "<", jac=lambda x: 1j * np.eye(2), name="c")},
            "the jac of 'c' must return real numbers",
        ),
    ],
)
def test_complex_values_are_errors_in_penalize(arguments, words):
    p = penalize(**({"fun": rosen, "sigma": 1.0, "alpha": 1.0} | arguments))
    with pytest.raises(ValueError) as error:
        p.gradient([1.0, 2.0])
    assert words in str(error.value)


def test_a_linear_constraint_of_the_wrong_width_says_so():
    wide = LinearConstraint(np.ones((2, 3)), 0.0, 1.0)
    message = r"\(constraints=...\)`: the matrix of 'constraint 0' must have 2 columns.*got shape \(2, 3\)"
    for form in (wide, LinearConstraint(sparse.csr_array(np.ones((2, 3))), 0.0, 1.0)):
        with pytest.raises(ValueError, match="`minimize" + message):
            minimize(**ROSEN, constraints=form)
    with pytest.raises(ValueError, match="`penalize" + message):
        penalize(rosen, wide, sigma=1.0, alpha=1.0)([1.0, 1.0])
    with pytest.raises(ValueError, match="`penalize" + message):
        penalize(lambda x: x.sum(axis=0), wide, sigma=1.0, alpha=1.0, vectorized=True)(np.ones((2, 5)))


def test_a_start_is_not_simulated_again_for_a_second_attempt():
    seen = []

    def fun(x):
        if np.abs(x - START).max() > 1e-3:
            raise ArithmeticError("outside")  # so that no step succeeds and a second attempt is made
        if (x == START).all():
            seen.append(1)
            if len(seen) > 1:
                raise ArithmeticError("not again")
        return x[0]

    result = minimize(fun, START, jac=lambda x: [1.0, 0.0], constraints=Constraint(lambda x: x, ">", -9.0))
    assert len(seen) == 1
    assert not result.success
    assert result.status == Status.NO_PROGRESS.number
