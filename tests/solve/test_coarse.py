"""Functions that return few digits, differenced: no success where differences show nothing."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import Constraint
from softpenalty.problem.precision import EPS, Precision, returned_precision
from softpenalty.solve.minimize import minimize

SINGLE = float(np.finfo(np.float32).eps)


def bowl(x):
    return (x[0] - 1.0) ** 2 + (x[1] - 2.0) ** 2


def single(x):
    y = np.asarray(x, dtype=np.float32)
    return (y[0] - np.float32(1)) ** 2 + (y[1] - np.float32(2)) ** 2


COARSE = {
    "computed in single precision": single,
    "returned in single precision": lambda x: np.float32(bowl(x)),
    "printed with six digits": lambda x: float(f"{bowl(x):.6g}"),
    "rounded to six decimals": lambda x: round(bowl(x), 6),
    "on top of 1e8": lambda x: 1e8 + bowl(x),
    "on top of 1e10": lambda x: 1e10 + bowl(x),
    "single precision on top of 1000": lambda x: np.float32(1000.0 + bowl(x)),
}


@pytest.mark.parametrize("start", [[9.0, 1.0], [-3.0, 0.5], [0.0, 0.0]])
@pytest.mark.parametrize("fun", COARSE.values(), ids=COARSE.keys())
def test_coarse_objective(fun, start):
    result = minimize(fun, start)
    # With curvature 2 and an error of the objective of 1e-4 at most (the last case) x is known to 1e-2.
    assert result.success, result.message
    np.testing.assert_allclose(result.x, [1.0, 2.0], atol=1e-2)


@pytest.mark.parametrize("fun", COARSE.values(), ids=COARSE.keys())
def test_coarse_constraint(fun):
    """A circle of radius 1 around (1, 2): its point nearest to the origin."""
    constant = fun([1.0, 2.0])
    circle = Constraint(fun, "<", constant + 1.0)
    result = minimize(lambda x: x[0] ** 2 + x[1] ** 2, [4.0, 4.0], constraints=circle)
    assert result.status != 3
    expected = np.array([1.0, 2.0]) * (1.0 - 1.0 / np.sqrt(5.0))
    np.testing.assert_allclose(result.x, expected, atol=1e-2)


def test_scheme_of_the_user_that_resolves_nothing_is_no_success():
    """Forward differences of 1e8 + ... are wrong by the gradient itself: that must not end as a success."""
    result = minimize(lambda x: 1e12 + bowl(x), [9.0, 1.0], jac="2-point")
    assert not result.success or np.allclose(result.x, [1.0, 2.0], atol=0.1)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e8])
def test_ordinary_functions_pay_nothing(offset):
    """Full precision is recognised from the values that differences need anyway."""
    result = minimize(lambda x: offset + bowl(x) ** 2 + x[0], [0.3, 0.7], options={"maxiter": 1})
    assert result.nfev == 1 + 2 * result.njev + (result.nit > 0)


def test_constant_is_looked_at_once():
    calls = []

    def fun(x):
        calls.append(x)
        return 3.0

    result = minimize(fun, [1.0, 2.0])
    assert result.success
    assert len(calls) == 1 + 2 + 2  # the start, two differences, two looks over larger steps


def test_a_look_that_fails_does_no_harm():
    """The objective is flat at the start, and not defined a thousandth away from it."""

    def fun(x):
        if abs(x[0]) > 1e-4:
            raise ValueError("outside")
        return 1.0

    result = minimize(fun, [0.0])
    assert result.success
    assert np.isfinite(result.jac).all()


class TestReturnedPrecision:
    def test_double(self):
        assert returned_precision(65.0, np.array([65.0 + 2.0**-20 * 1.1, 65.0])) == EPS

    def test_nothing_changed(self):
        assert returned_precision(65.0, np.array([65.0, np.nan])) is None

    def test_single(self):
        here = float(np.float32(0.7))
        assert returned_precision(here, np.array([np.nextafter(np.float32(0.7), np.float32(1))])) == SINGLE

    def test_half(self):
        here = np.float16(0.7)
        near = np.array([np.nextafter(here, np.float16(1))], dtype=float)
        assert returned_precision(float(here), near) == float(np.finfo(np.float16).eps)

    def test_digits(self):
        assert returned_precision(64.9985, np.array([64.9986])) == pytest.approx(1e-5)

    def test_a_short_number_far_away_says_nothing(self):
        """x at x = 0 is 2^-26 after the usual step: one binary digit, and yet exact."""
        assert returned_precision(0.0, np.array([2.0**-26])) == EPS


def test_steps_grow_with_what_is_known():
    known = Precision(2)
    which, here = np.array([0, 1]), np.array([1e8, 1.0])
    assert known.required(which, here, central=True) == EPS
    known.saw(which, np.array([[10.0], [1.0]]), np.array([1.0]))
    assert known.required(which, here, central=False) == EPS
    assert known.required(which, here, central=True) == pytest.approx(EPS * 1e7)
    known.spacing[1] = 1e-6
    assert known.required(which, here, central=False) == 1e-6
