"""Penalties judge themselves: saturation, errors beyond what was promised, points that are no minimum."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.optimize import minimize

from softpenalty import Constraint, penalize, recommend

TOLERANCE = 1e-3
AREA = Constraint(lambda x: x[0] * x[1], ">", 25.0, name="area")
DEPTH = Constraint(lambda x: x[1], "<", 4.0, name="depth")
FAR = Constraint(lambda x: x[0], "<", 900.0, name="far")
# On x0·x1 = 25 with x1 = 4 the multipliers are −1/4 and 25/16 − 1.
MULTIPLIERS = np.array([0.25, 0.5625])


def fence(constraints, **parameters):
    return penalize(lambda x: x[0] + x[1], constraints, **parameters)


def at_minimum(penalty, start=(9.0, 4.0)):
    return minimize(penalty, start, jac=penalty.gradient, method="BFGS", options={"gtol": 1e-9}).x


def ramp(sigma, alpha=0.01, **more):
    """Minimize −3x + x²/100 with x < 1: the multiplier is 2.98."""
    row = Constraint(lambda x: x[0], "<", 1.0, name="limit")
    return penalize(lambda x: -3.0 * x[0] + 0.01 * x[0] ** 2, row, sigma=sigma, alpha=alpha, **more)


def test_a_saturated_multiplier_is_called_so_with_the_sigma_that_holds():
    weak = ramp(sigma=1.0)
    x = minimize(weak, [0.0], jac=weak.gradient).x
    assert x[0] > 50.0
    text = weak.report(x)
    assert "saturated  limit < 1" in text
    raised = float(re.search(r"Raise sigma to ([\d.]+) or the constraint is ignored", text).group(1))
    held = weak.replace(sigma=raised)
    assert abs(held.errors(at_minimum(held, [0.0]))[0]) < 0.05
    assert weak.recommend(x, TOLERANCE).sigma[0] == pytest.approx(raised, rel=1e-2)  # three digits are shown


@pytest.mark.parametrize("kernel", ["softplus", "algebraic"])
def test_an_error_beyond_the_promise_comes_with_parameters_that_reach_it(kernel):
    choice = recommend(gradient=30.0, tolerance=TOLERANCE, operator="<", kernel=kernel)  # a bad guess
    guessed = fence([AREA, DEPTH, FAR], sigma=choice.sigma, alpha=choice.alpha, kernel=kernel)
    x = at_minimum(guessed)
    assert np.abs(guessed.errors(x)[:2]).min() > TOLERANCE
    text = guessed.report(x)
    found = re.findall(r"(\w+) [<>] \d+: the error .* exceeds .* sigma = (\S+) and alpha = (\S+) would", text)
    assert [name for name, _, _ in found] == ["area", "depth"]
    sigma, alpha = (np.array([float(row[i]) for row in found] + [1.0]) for i in (1, 2))
    better = guessed.replace(sigma=sigma, alpha=alpha)
    assert np.abs(better.errors(at_minimum(better, x))[:2]).max() < TOLERANCE
    assert "errors are as small as `recommend` promises" in better.report(at_minimum(better, x))


@pytest.mark.parametrize(
    ("kernel", "combination"),
    [
        ("softplus", "sum"),
        ("algebraic", "sum"),
        ("quadratic", "sum"),
        ("softplus", "norm"),
        ("algebraic", "norm"),
    ],
)
def test_recommend_gives_the_next_parameters(kernel, combination):
    first = fence([AREA, DEPTH, FAR], sigma=60.0, alpha=0.01, kernel=kernel, combination=combination)
    x = at_minimum(first)
    choice = first.recommend(x, TOLERANCE)
    assert choice.sigma.shape == choice.alpha.shape == choice.error.shape == (3,)
    assert choice.sigma[2] == 60.0  # not held
    if (kernel, combination) == ("softplus", "sum"):
        # twice the multiplier but for the margin, 1.5 + 1/1.5; the error at x, 0.07, moves it by a tenth
        np.testing.assert_allclose(choice.sigma[:2], (1.5 + 1 / 1.5) * MULTIPLIERS, rtol=0.15)
    second = first.replace(sigma=choice.sigma, alpha=choice.alpha)
    assert np.abs(second.errors(at_minimum(second, x))[:2]).max() <= TOLERANCE


def test_a_wanted_error_may_be_given_to_the_report():
    p = ramp(sigma=6.0, alpha=0.01)
    x = at_minimum(p, [0.0])
    assert "errors are as small as" in p.report(x)
    strict = p.report(x, tolerance=1e-7)
    assert (
        "exceeds the 1e-07" in strict and "alpha = 8.55e-08" in strict
    )  # tolerance/1.17, as `recommend` has it


def test_predicted_and_found_errors_agree_at_the_minimum():
    p = fence([AREA, DEPTH], sigma=3.0, alpha=1e-2)
    lines = p.report(at_minimum(p)).splitlines()
    rows = [line.split() for line in lines if line.startswith("held")]
    assert [row[1] for row in rows] == ["area", "depth"]
    for row in rows:
        assert abs(float(row[4])) == pytest.approx(float(row[-1]), rel=1e-3)  # four digits are shown


def test_a_point_that_is_no_minimum_is_called_so():
    text = fence([AREA, DEPTH], sigma=3.0, alpha=1e-2).report([7.0, 4.0])
    assert "not the minimum of the penalty" in text and "depth < 4" in text
    wanted = penalize(lambda x: x[0], AREA, sigma=3.0, kernel="quadratic").report([4.0, 4.0])
    assert "not the minimum of the penalty" in wanted


def test_the_quadratic_kernel_is_judged_by_a_tolerance_only():
    p = fence([AREA, DEPTH], sigma=10.0, kernel="quadratic")
    x = at_minimum(p)
    assert "Say `report(x, tolerance)`" in p.report(x)
    text = p.report(x, TOLERANCE)
    assert "exceeds the 0.001" in text and "sigma = " in text and "alpha" not in text


def test_what_is_not_held_is_zero_and_not_judged():
    text = fence(FAR, sigma=3.0, alpha=1e-2).report([5.0, 5.0])
    (row,) = [line for line in text.splitlines() if line.strip().startswith("far")]
    assert row.split()[-2:] == ["0", "3"]  # multiplier and sigma: no 5.7e-225
    assert "all are met without it" in text


def test_equalities_and_bounds():
    line = Constraint(lambda x: x[0] + x[1], "=", 2.0, name="line")
    p = penalize(lambda x: x @ x, line, bounds=[(None, 0.5), (None, None)], sigma=10.0, alpha=0.05)
    x = at_minimum(p, [0.0, 0.0])
    text = p.report(x)
    assert "held  line = 2" in text and "held  x[0] < 0.5" in text
    choice = p.recommend(x, 1e-4)
    better = p.replace(sigma=choice.sigma, alpha=choice.alpha)
    assert np.abs(better.errors(at_minimum(better, x))).max() <= 1e-4


@pytest.mark.parametrize("tolerance", [0.0, -1.0, [1.0, 2.0, 3.0], np.nan])
def test_bad_tolerances(tolerance):
    with pytest.raises(ValueError, match=r"Penalty\.re\w+\(tolerance=...\)"):
        ramp(sigma=6.0).recommend([1.0], tolerance)
    with pytest.raises(ValueError, match=r"Penalty\.re\w+\(tolerance=...\)"):
        ramp(sigma=6.0).report([1.0], tolerance)


def test_a_population_has_no_report():
    p = ramp(sigma=6.0, vectorized=True)
    with pytest.raises(ValueError, match="one point"):
        p.report(np.zeros((1, 4)))
