"""Noisy functions: the noise floor is reached, told with its uncertainty, and nothing evaluated is lost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

from softpenalty import Constraint, minimize
from softpenalty.solve.status import Status

LEVELS = [1e-2, 1e-4, 1e-8]


class Noise:
    """Functions with relative noise, and how often they were called."""

    def __init__(self, level, seed=0):
        self.level, self.random, self.calls = level, np.random.default_rng(seed), 0

    def __call__(self, function):
        def noisy(x):
            self.calls += 1
            value = float(function(x))
            return value + self.level * max(1.0, abs(value)) * self.random.standard_normal()

        return noisy


def corner(noise):
    """Minimum (1, 1) with objective 1, where a parabola and a line meet."""
    return {
        "fun": noise(lambda x: (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2),
        "x0": [2.0, 2.0],
        "constraints": [
            Constraint(noise(lambda x: x[0] ** 2 - x[1]), "<", 0.0, name="parabola"),
            LinearConstraint(np.ones((1, 2)), -np.inf, 2.0),
        ],
    }


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("told", [True, False])
def test_the_noise_floor_is_reached(level, told):
    result = minimize(**corner(Noise(level)), noise=level if told else "auto")
    assert result.success and result.status == Status.NOISE_FLOOR.number
    assert result.verdict == "optimal within the noise"
    np.testing.assert_allclose(result.x, 1.0, atol=10.0 * level)
    assert result.x.sum() <= 2.0 + 1e-8  # linear rows are exact
    assert result.nfev <= 30 * 3
    assert "A digit more takes" in result.message


@pytest.mark.parametrize("level", [1e-3, 1e-6])
def test_it_is_found_out_where_nothing_was_said(level):
    result = minimize(**corner(Noise(level, seed=2)))
    assert result.success and result.status == Status.NOISE_FLOOR.number
    np.testing.assert_allclose(result.x, 1.0, atol=10.0 * level)
    assert result.noise["objective"] == pytest.approx(level, rel=2.0)  # from a few points


def test_nothing_is_lost_where_it_is_found_out():
    """Points of the method that failed are known to the next one, which asks for none of them again."""
    seen, noise = [], Noise(1e-6, seed=3)
    fun = noise(lambda x: (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2)
    row = Constraint(noise(lambda x: x[0] ** 2 - x[1]), "<", 0.0)
    result = minimize(lambda x: seen.append(x.copy()) or fun(x), [2.0, 2.0], constraints=row)
    assert result.success and result.status == Status.NOISE_FLOOR.number
    points = {x.tobytes() for x in seen}
    assert len(points) == len(seen) == result.simulations == len(result.evaluations.x)
    assert points == {x.tobytes() for x in result.evaluations.x}


def test_no_floor_is_claimed_where_rows_are_broken():
    """Quiet iterations before do not make up for the last one."""
    for seed in range(12):
        noise = Noise(1e-6, seed)
        ellipsoid = Constraint(noise(lambda x: x[0] ** 2 + 2.0 * x[1] ** 2 + 4.0 * x[2] ** 2), "<", 48.0)
        result = minimize(
            noise(lambda x: -x[0] * x[1] * x[2]), np.ones(3), constraints=ellipsoid, noise="auto"
        )
        assert result.success, result.message


def test_a_smooth_problem_keeps_its_method_and_its_cost():
    result = minimize(**corner(lambda function: function))
    assert result.status == Status.CONVERGED.number
    assert "noise" not in result
    assert result.nfev < 40


def test_uncertainties_are_those_of_repeated_runs():
    answers = [minimize(**corner(Noise(1e-3, seed)), noise=1e-3) for seed in range(40)]
    spread = np.std([answer.x for answer in answers], axis=0)
    told = np.median([answer.uncertainty["x"] for answer in answers], axis=0)
    assert (told < 2.5 * spread).all() and (told > spread / 2.0).all()
    funs = np.array([answer.fun for answer in answers])
    assert np.median(np.abs(funs - 1.0)) < 4.0 * np.median([a.uncertainty["fun"] for a in answers])
    for answer in answers:
        assert answer.uncertainty["multipliers"].shape == answer.multiplier_vector.shape


def test_noise_of_each_function_by_name():
    noise = {"objective": 1e-3, "parabola": 1e-5}
    result = minimize(**corner(Noise(1e-5)), noise=noise)
    assert result.noise["objective"] == pytest.approx(1e-3, rel=0.1)
    assert result.noise["parabola"] == pytest.approx([1e-5], rel=0.1)
    with pytest.raises(ValueError, match=r"`minimize\(noise=\.\.\.\)` must name 'objective' or constraints"):
        minimize(**corner(Noise(1e-5)), noise={"mass": 1e-3})


@pytest.mark.parametrize("bad", [-1.0, np.inf, "loud", [1e-3], {"objective": -2.0}])
def test_bad_noise_is_refused(bad):
    with pytest.raises((TypeError, ValueError), match=r"`minimize\(noise=\.\.\.\)`"):
        minimize(**corner(Noise(1e-3)), noise=bad)


def test_every_evaluation_can_be_had_and_given_to_the_next_run():
    noise = Noise(1e-3)
    first = minimize(**corner(noise), noise=1e-3)
    evaluations = first.evaluations
    assert len(evaluations.x) == first.simulations == first.nfev
    assert evaluations.values.shape == (first.nfev, 2)
    fewer = Noise(1e-3, seed=7)
    again = minimize(**corner(fewer), noise=1e-3, evaluations=evaluations)
    assert again.success
    assert again.uncertainty["fun"] < 1.2 * first.uncertainty["fun"]
    with pytest.raises(ValueError, match=r"`minimize\(evaluations=\.\.\.\)` must be `result.evaluations`"):
        minimize(**corner(fewer), noise=1e-3, evaluations=(np.ones((3, 5)), [1.0], [2.0]))


def test_the_whole_budget_can_be_used():
    short = minimize(**corner(Noise(1e-2)), noise=1e-2)
    long = minimize(**corner(Noise(1e-2)), noise=1e-2, exhaust=True, maxfev=400)
    assert long.nfev > 390 > short.nfev
    assert long.status == Status.EVALUATION_LIMIT.number
    assert long.uncertainty["fun"] < 0.6 * short.uncertainty["fun"]


def test_limits_failures_and_checkpoints_as_elsewhere(tmp_path):
    few = minimize(**corner(Noise(1e-3)), noise="auto", maxfev=9)
    assert few.status == Status.EVALUATION_LIMIT.number and few.nfev <= 9
    random = np.random.default_rng(1)

    def failing(x):
        if random.random() < 0.1:
            raise RuntimeError("did not converge")
        return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2 + 1e-3 * random.standard_normal()

    rows = Constraint(lambda x: x[0] ** 2 - x[1], "<", 0.0)
    result = minimize(failing, [2.0, 2.0], constraints=rows, noise=1e-3)
    assert result.success and result.failures > 0
    noise = Noise(1e-3)
    first = minimize(**corner(noise), noise=1e-3, checkpoint=tmp_path / "run")
    calls = noise.calls
    again = minimize(**corner(noise), noise=1e-3, checkpoint=tmp_path / "run", resume=True)
    assert noise.calls == calls
    np.testing.assert_array_equal(first.x, again.x)


def test_batches_go_through_one_map():
    batches = []

    def remember(function, points):
        batches.append(len(points))
        return [function(point) for point in points]

    minimize(**corner(Noise(1e-3)), noise=1e-3, workers=remember)
    assert max(batches) == 2  # n points at once


def test_fixed_variables_stay_and_bounds_hold():
    noise = Noise(1e-4)
    seen = []

    def fun(x):
        seen.append(x.copy())
        return noise(lambda x: (x[0] - 3.0) ** 2 + x[1] ** 2 + (x[2] + 1.0) ** 2)(x)

    result = minimize(fun, [0.5, 7.0, 1.0], bounds=[(0.0, 2.0), (7.0, 7.0), (0.0, None)], noise=1e-4)
    assert result.success
    np.testing.assert_allclose(result.x, [2.0, 7.0, 0.0], atol=1e-3)
    points = np.array(seen)
    assert points[:, 0].min() >= 0.0 and points[:, 0].max() <= 2.0 and points[:, 2].min() >= 0.0
    assert (points[:, 1] == 7.0).all()


def coupled(n):
    """A chain in discs: each variable bends with its neighbour, and half of the discs are active."""

    def fun(x):
        return float(((x[1:] - 0.5 * x[:-1] ** 2) ** 2).sum() + 0.5 * ((x - 1.0) ** 2).sum())

    return fun, lambda x: x[0::2] ** 2 + x[1::2] ** 2, np.full(n, 0.3)


@pytest.mark.parametrize("n", [20, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("level", [1e-3, 1e-5])
def test_many_coupled_variables(n, level):
    fun, discs, x0 = coupled(n)
    exact = minimize(fun, x0, constraints=Constraint(discs, "<", 0.5))
    random = np.random.default_rng(n)

    def noisy(function):
        def call(x):
            value = function(x)
            return value + level * np.maximum(1.0, np.abs(value)) * random.standard_normal(np.shape(value))

        return call

    result = minimize(
        noisy(fun), x0, constraints=Constraint(noisy(discs), "<", 0.5), noise="auto", maxfev=100 * (n + 1)
    )
    assert result.success
    # One function value is off by 5 to 8 levels here; ten variables and more add up.
    assert abs(fun(result.x) - exact.fun) <= 30.0 * level
    assert discs(result.x).max() <= 0.5 + 3.0 * level


def test_too_many_variables_are_refused():
    with pytest.raises(ValueError, match="takes 1 to 30 free variables; got 31"):
        minimize(lambda x: x @ x, np.ones(31), noise=1e-3)


def test_little_noise_costs_little_more_than_none():
    smooth = minimize(**corner(lambda function: function))
    result = minimize(**corner(Noise(1e-8)), noise="auto")
    assert result.success and result.nfev <= 2.5 * smooth.nfev
    # Points of differences are known too, though the linear row was never asked for there.
    assert len(result.evaluations.x) == result.nfev == result.simulations
    np.testing.assert_allclose(result.evaluations.values[:, 1], result.evaluations.x.sum(axis=1))


def test_limits_hold_on_the_way_to_the_noise():
    for most in (8, 12, 20):
        result = minimize(**corner(Noise(1e-8)), noise=1e-8, maxfev=most)
        assert result.nfev <= most
    calls = []
    result = minimize(**corner(Noise(1e-8)), noise=1e-8, callback=lambda x: calls.append(x) or stop(calls))
    assert result.status == Status.CALLBACK.number and len(calls) == 2


def stop(calls):
    if len(calls) == 2:
        raise StopIteration


def test_rows_without_a_multiplier_are_not_lost():
    """Where the objective is flat on the row, weights vanish with the multiplier."""
    noise = Noise(1e-6)
    circle = Constraint(noise(lambda x: x @ x), "=", 1.0)
    result = minimize(
        noise(lambda x: (x[0] - 1.0) ** 4 + x[1] ** 4), [2.0, 1.0], constraints=circle, noise=1e-6
    )
    assert abs(result.x @ result.x - 1.0) < 1e-5


def test_other_methods_do_not_take_noise():
    with pytest.raises(ValueError, match="is for the default method; got method='penalty'"):
        minimize(lambda x: x @ x, np.ones(2), noise=1e-3, method="penalty")
