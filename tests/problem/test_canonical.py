"""Constraints as rows: what is compared with what, and by which name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from softpenalty import Constraint
from softpenalty.problem.canonical import stack_rows
from softpenalty.problem.scipy_forms import Block, read_constraints


def block(low, high, name="c"):
    return Block(name, lambda x: x, np.asarray(low, dtype=float), np.asarray(high, dtype=float))


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_broken_as_far_as_values_are_outside(seed):
    rng = np.random.default_rng(seed)
    sizes = [1, 4, 3]
    low = [rng.normal(size=k) for k in sizes]
    high = [low_k + rng.choice([0.0, 1.0, np.inf], low_k.size) for low_k in low]
    for low_k, high_k in zip(low, high, strict=True):
        low_k[(low_k < high_k) & (rng.random(low_k.size) < 0.3)] = -np.inf
    rows = stack_rows("test", [block(*limits) for limits in zip(low, high, strict=True)], sizes)
    values = rng.normal(size=sum(sizes))
    outside = np.maximum(np.maximum(np.concatenate(low) - values, values - np.concatenate(high)), 0.0)
    worst = np.zeros(values.size)
    np.maximum.at(worst, rows.source, rows.violations(rows.errors(values)))
    np.testing.assert_array_equal(worst, outside)


def test_a_row_goes_by_name_index_and_comparison():
    blocks = [block([0.0, -np.inf, 1.0], [0.0, 2.0, 3.0]), block(-1.0, np.inf, "one")]
    rows = stack_rows("test", blocks, [3, 1], (np.array([-np.inf]), np.array([5.0])))
    assert rows.labels == ["c[0] = 0", "c[1] < 2", "c[2] < 3", "c[2] > 1", "one > -1", "x[0] < 5"]
    assert rows.operators == ["=", "<", "<", ">", ">", "<"]


def test_a_row_has_the_weight_of_its_constraint():
    blocks = read_constraints(
        "test",
        [
            Constraint(np.sin, "<", [np.inf, 1.0, 2.0], sigma=[1.0, 2.0, 3.0], name="some"),
            Constraint(np.sin, ">", alpha=0.5, name="all"),
        ],
    )
    rows = stack_rows("test", blocks, [3, 2])
    np.testing.assert_array_equal(rows.sigma, [2.0, 3.0, np.nan, np.nan])
    np.testing.assert_array_equal(rows.alpha, [np.nan, np.nan, 0.5, 0.5])


@pytest.mark.parametrize("what", ["target", "sigma", "alpha"])
def test_what_does_not_fit_is_named(what):
    of_constraint = {"target": 0.0, what: [1.0, 2.0]}
    blocks = read_constraints("test", Constraint(np.sin, "<", name="wall", **of_constraint))
    with pytest.raises(ValueError, match=rf"`test`: the {what} of 'wall' has shape \(2,\).* 3 value"):
        stack_rows("test", blocks, [3])


def test_rows_of_bounds_can_be_sent_to_another_process():
    rows = stack_rows("test", [], [], (np.array([0.0, -np.inf]), np.array([1.0, 2.0])))
    assert pickle.loads(pickle.dumps(rows)).labels == rows.labels == ["x[0] < 1", "x[1] < 2", "x[0] > 0"]
