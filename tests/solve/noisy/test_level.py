"""How large the noise of a function is, seen from values on a line."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import Constraint
from softpenalty.problem.canonical import stack_rows
from softpenalty.problem.evaluation import Evaluation
from softpenalty.problem.problem import Problem
from softpenalty.problem.scipy_forms import read_constraints
from softpenalty.solve.noisy.level import EXTRA, line, measured_levels, noise_level, variable_sizes


@pytest.mark.parametrize("level", [1e-6, 1e-3, 1.0])
def test_pure_noise_is_measured_within_a_factor_three(level):
    random = np.random.default_rng(1)
    found = [noise_level(level * random.standard_normal(EXTRA + 1)) for _ in range(300)]
    levels = np.array([number for number, decided in found if decided])
    assert len(levels) > 240
    assert np.mean((levels > level / 3.0) & (levels < 3.0 * level)) > 0.95
    assert np.exp(np.log(levels).mean()) == pytest.approx(level, rel=0.25)  # seven values each


def test_a_smooth_function_shows_none():
    t = np.arange(EXTRA + 1) * 1e-2
    number, decided = noise_level(np.exp(t))
    assert not decided
    assert number < 1e-11  # an upper limit
    assert (
        noise_level(np.full(EXTRA + 1, 3.0)) == (0.0, True) or noise_level(np.full(EXTRA + 1, 3.0))[0] == 0.0
    )


def test_values_that_are_not_finite_tell_nothing():
    assert noise_level(np.array([1.0, np.nan, *np.ones(EXTRA - 1)])) == (np.inf, False)


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_the_line_stays_inside_and_moves_every_variable(place):
    lower, upper = np.array([0.0, 0.0, 0.0]), np.array([1.0, 1e-3, 50.0])
    x = lower + place * (upper - lower)
    points = line(x, variable_sizes(x, lower, upper), lower, upper, 1e-2, np.random.default_rng(0))
    assert len(points) == EXTRA
    for point in points:
        assert (point >= lower).all() and (point <= upper).all()
        assert (point != x).all()
    steps = np.diff([x, *points], axis=0)
    np.testing.assert_allclose(steps, np.broadcast_to(steps[0], steps.shape), rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("level", [0.0, 1e-8, 1e-3])
def test_levels_of_objective_and_constraints_apart(level):
    random = np.random.default_rng(3)
    blocks = read_constraints(
        "minimize",
        Constraint(lambda x: [x @ x, 1e3 * x[0] * (1.0 + level * random.standard_normal())], "<", 5.0),
    )
    evaluation = Evaluation("minimize", lambda x: np.exp(x[0]) + x[1], blocks, forgiving=True)
    start = np.array([1.0, 2.0])
    evaluation.values(start)
    rows = stack_rows("minimize", blocks, evaluation.sizes)
    free = np.full(2, -np.inf), np.full(2, np.inf)
    levels = measured_levels(Problem(evaluation, rows, *free, start, ["a", "b"]))
    assert levels[0] < 1e-13 and levels[1] < 1e-13
    assert levels[2] == pytest.approx(level, rel=2.0, abs=1e-13)


def test_noise_is_relative_to_the_values_it_was_seen_in():
    """Where a function happens to vanish at the start, its values on the line do not."""
    random = np.random.default_rng(4)

    def fun(x):
        value = 1e5 * x.sum()
        return value + 1e-3 * max(1.0, abs(value)) * random.standard_normal()

    evaluation = Evaluation("minimize", fun, [], forgiving=True)
    start = np.zeros(3)
    evaluation.values(start)
    free = np.full(3, -np.inf), np.full(3, np.inf)
    rows = stack_rows("minimize", [], evaluation.sizes)
    (level,) = measured_levels(Problem(evaluation, rows, *free, start, ["a", "b", "c"]))
    assert level == pytest.approx(1e-3, rel=2.0)
