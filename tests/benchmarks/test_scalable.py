"""The scalable test functions: their gradients, their known minima, and how gradients are counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from benchmarks import scalable

NAMES = [family.residuals.__name__ for family in scalable.FAMILIES]


@pytest.mark.parametrize("family", scalable.FAMILIES, ids=NAMES)
def test_gradients_are_those_of_the_objective(family):
    n = 4
    fun, grad = scalable.of_squares(family.residuals)
    x = family.start(n) + 0.1 * np.cos(np.arange(n))
    expected = approx_fprime(x, fun, 1e-7)
    # forward differences err by the curvature times half their step
    np.testing.assert_allclose(grad(x), expected, atol=1e-4 * max(1.0, np.abs(expected).max()))


ZEROS = {
    "extended_rosenbrock": np.ones(8),
    "chained_rosenbrock": np.ones(8),
    "cube": np.ones(8),
    "powell_singular": np.zeros(8),
    "wood": np.ones(8),
    "beale": np.tile([3.0, 0.5], 4),
    "freudenstein_roth": np.tile([5.0, 4.0], 4),
    "brown_almost_linear": np.ones(8),
    "variably_dimensioned": np.ones(8),
    "dixon_price": 2.0 ** (2.0 ** -np.arange(8.0) - 1.0),
    "exponentials": np.zeros(8),
    "trigonometric": np.zeros(8),
}


@pytest.mark.parametrize("name", ZEROS)
def test_known_minima(name):
    family = scalable.FAMILIES[NAMES.index(name)]
    np.testing.assert_allclose(family.residuals(ZEROS[name]), 0.0, atol=1e-12)


def test_gradients_at_one_point_count_once_and_the_way_is_seen():
    fun, grad = scalable.of_squares(lambda x: x - 1.0)
    task = scalable.Task("parabola", fun, grad, np.zeros(2), None)

    def walk(fun, x0, grad, bounds):
        for x in (x0, x0, np.array([1.0, 0.0]), np.ones(2), x0):
            fun(x)
            grad(x)
        fun(x0)
        return np.ones(2)

    way = task.counted(walk)
    assert way == scalable.Way(0.0, 4, [2.0, 1.0, 0.0, 0.0])
    assert way.until(0.0) == 3 and way.until(1.0) == 2
    assert way.solved(0.0) and way.solved(1e-6) and not way.solved(-1.0)


def test_starts_stay_within_bounds():
    tasks = list(scalable.from_all_starts(scalable.functions(bounded=True)))
    assert len(tasks) == len(scalable.SEEDS) * len(list(scalable.functions(bounded=True)))
    for task in tasks:
        assert (task.x0 >= task.bounds.lb).all() and (task.x0 <= task.bounds.ub).all()


def test_ratios_compare_what_both_solve(capsys):
    some = [task for task in scalable.functions(bounded=False) if task.name in ("quadratic 4", "beale 2")]
    problems, ours, found = scalable.ratios(iter(some), each=True)
    assert "beale 2" in capsys.readouterr().out
    assert problems == ours == 2
    for ratio in found.values():
        assert len(ratio.whole) == 2
        assert all(0.1 < mean < 10.0 for mean in ratio.means())


def test_means_are_geometric():
    ratio = scalable.Ratios()
    ratio.take(scalable.Way(0.0, 8, [0.0] * 4), scalable.Way(0.0, 4, [1.0, 0.0]), 0.0)
    ratio.take(scalable.Way(0.0, 2, [0.0] * 1), scalable.Way(0.0, 4, [1.0, 0.0]), 0.0)
    assert ratio.means() == pytest.approx((1.0, 0.5, 1.0))
