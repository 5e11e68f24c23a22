"""Variables with equal bounds: exact multipliers where derivatives are given, NaN where nobody can know."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import Constraint, minimize

BOUNDS = [(1.0, 1.0), (None, None), (0.0, 5.0)]


def fun(x):
    assert x[0] == 1.0  # it is never moved
    return (x[0] - 3.0) ** 2 + (x[1] - x[0]) ** 2 + x[2]


def jac(x):
    return np.array([2.0 * (x[0] - 3.0) - 2.0 * (x[1] - x[0]), 2.0 * (x[1] - x[0]), 1.0])


def row(x):
    return x[0] + x[1]


def row_jac(x):
    return np.array([1.0, 1.0, 0.0])


def active(jac=None):
    return Constraint(row, ">", 3.0, jac=jac, name="row")  # holds with x1 = 2, multiplier −2


def inactive(jac=None):
    return Constraint(row, ">", -3.0, jac=jac, name="row")


@pytest.mark.parametrize(
    ("arguments", "gradient", "multiplier"),
    [
        ({}, np.nan, np.nan),
        ({"jac": "3-point"}, np.nan, np.nan),
        ({"jac": jac}, -4.0, 4.0),
        ({"jac": "cs"}, -4.0, 4.0),
        ({"fun": lambda x: (fun(x), jac(x)), "jac": True}, -4.0, 4.0),
        ({"jac": jac, "constraints": inactive()}, -4.0, 4.0),
        ({"jac": jac, "constraints": active(row_jac)}, -6.0, 8.0),
        ({"jac": jac, "constraints": active("cs")}, -6.0, 8.0),
        ({"jac": jac, "constraints": active()}, -6.0, np.nan),
        ({"constraints": active(row_jac)}, np.nan, np.nan),
    ],
    ids=[
        "nothing given",
        "3-point",
        "jac",
        "cs",
        "jac=True",
        "slack row",
        "row with jac",
        "row by cs",
        "row differenced",
        "objective differenced",
    ],
)
def test_gradient_and_multiplier(arguments, gradient, multiplier):
    if arguments.get("jac") == "cs":
        arguments = {**arguments, "fun": lambda x: (x[0] - 3.0) ** 2 + (x[1] - x[0]) ** 2 + x[2]}
    result = minimize(**{"fun": fun, "x0": [0.0, 0.0, 3.0], "bounds": BOUNDS, **arguments})
    assert result.success, result.message
    held = "row" in result.multipliers and result.multipliers["row"].any()
    np.testing.assert_allclose(result.x, [1.0, 2.0 if held else 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(result.jac, [gradient, 2.0 if held else 0.0, 1.0], atol=1e-5)
    np.testing.assert_allclose(result.multipliers["bounds"], [multiplier, 0.0, -1.0], atol=1e-5)
    assert np.isfinite(list(result.kkt.values())).all()
    text = result.report()
    assert ("x[0] is fixed at 1: what that is worth is not known" in text) == np.isnan(multiplier)
    (held,) = [line.split() for line in text.splitlines() if "x[2] (bound)" in line]
    assert held[:6] == ["active", "x[2]", "(bound)", "0", ">", "0"]
    assert float(held[8]) == pytest.approx(1.0, abs=1e-5)  # the objective's change by one unit


@pytest.mark.parametrize("derivatives", [None, lambda x: 2.0 * x], ids=["differences", "jac"])
def test_all_fixed(derivatives):
    result = minimize(lambda x: x @ x, [0.0, 0.0], jac=derivatives, bounds=[(1.0, 1.0), (2.0, 2.0)])
    assert result.success
    expected = [np.nan, np.nan] if derivatives is None else [2.0, 4.0]
    np.testing.assert_array_equal(result.jac, expected)
    np.testing.assert_array_equal(result.multipliers["bounds"], -np.array(expected))
    assert ("No constraint holds" in result.report()) is False


def test_all_fixed_honours_the_accepted_violation():
    def solve(**options):
        form = Constraint(lambda x: x[0], "<", 0.9)
        return minimize(lambda x: x[0], [0.0], bounds=[(1.0, 1.0)], constraints=form, options=options)

    strict, loose = solve(), solve(constraint_tol=0.2)
    assert not strict.success and strict.status == 3
    assert loose.success and loose.status == 0


def test_an_invalid_start_with_a_fixed_variable():
    result = minimize(lambda x: np.nan, [0.0, 0.0], bounds=[(1.0, 1.0), (0.0, 1.0)], constraints=active())
    assert result.status == 7 and np.isnan(result.jac).all()
