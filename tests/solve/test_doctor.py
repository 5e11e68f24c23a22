"""Which constraints conflict, and how far each would have to give way."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import Constraint, minimize


def at_least(function, target, name):
    return Constraint(function, ">", target, name=name)


def at_most(function, target, name):
    return Constraint(function, "<", target, name=name)


def test_two_that_exclude_each_other_and_one_that_is_harmless():
    rows = [
        at_least(lambda x: x @ x, 2.0, "outside"),
        at_most(lambda x: x @ x, 1.0, "inside"),
        at_most(lambda x: x.sum(), 10.0, "harmless"),
    ]
    result = minimize(lambda x: x[0], [0.3, 0.0], bounds=[(-3.0, 3.0)] * 2, constraints=rows)
    assert result.conflict == ["outside > 2", "inside < 1"]
    assert result.relaxation == pytest.approx({"outside > 2": 1.0, "inside < 1": 1.0}, rel=1e-6)


def test_three_none_of_which_can_be_left_out():
    rows = [
        at_least(lambda x: x[0], 1.0, "first"),
        at_least(lambda x: x[1], 1.0, "second"),
        at_most(lambda x: x[0] + x[1], 1.5, "sum"),
        at_most(lambda x: x[0] - x[1], 5.0, "harmless"),
    ]
    result = minimize(lambda x: x @ x, [0.3, 0.0], constraints=rows)
    assert result.conflict == ["first > 1", "second > 1", "sum < 1.5"]
    assert list(result.relaxation.values()) == pytest.approx([0.5, 0.5, 0.5], rel=1e-5)


def test_conflicts_that_have_nothing_to_do_with_each_other():
    rows = [
        at_least(lambda x: x[0], 1.0, "a"),
        at_most(lambda x: x[0], 0.0, "b"),
        at_least(lambda x: x[1], 2.0, "c"),
        at_most(lambda x: x[1], 0.0, "d"),
    ]
    result = minimize(lambda x: x @ x, [0.3, 0.0], constraints=rows)
    amounts = [result.relaxation[label] for label in ("a > 1", "b < 0", "c > 2", "d < 0")]
    assert amounts == pytest.approx([1.0, 1.0, 2.0, 2.0], rel=1e-5)


def test_a_constraint_against_bounds():
    rows = at_least(lambda x: x.sum(), 3.0, "sum")
    result = minimize(lambda x: x @ x, [0.3, 0.0], bounds=[(0.0, 1.0)] * 2, constraints=rows)
    assert result.conflict == ["sum > 3", "bounds of x[0]", "bounds of x[1]"]
    assert result.relaxation == pytest.approx({"sum > 3": 1.0})


def test_relaxed_as_it_says_the_problem_is_feasible():
    """The amounts hold for problems that are linear, one at a time; in units a thousand times smaller too."""
    random = np.random.default_rng(4)
    for _ in range(10):
        A = random.normal(size=(3, 2)) * random.choice([1.0, 1e3], size=(3, 1))
        b = A @ random.normal(size=2)
        directions = np.vstack([A, -A.sum(axis=0)])  # the last contradicts the sum of the others
        targets = np.append(b, -b.sum() - 1.0)

        def rows(targets, directions=directions):
            return [
                at_most(lambda x, row=row: row @ x, target, f"row {i}")
                for i, (row, target) in enumerate(zip(directions, targets, strict=True))
            ]

        broken = minimize(lambda x: x @ x, [0.0, 0.0], constraints=rows(targets))
        assert broken.status == 3
        assert broken.relaxation
        for label, amount in broken.relaxation.items():
            relaxed = targets.copy()
            relaxed[int(label.split()[1])] += amount * (1.0 + 1e-6)
            assert minimize(lambda x: x @ x, [0.0, 0.0], constraints=rows(relaxed)).success


def test_nothing_free_and_nothing_to_relax_elsewhere():
    fixed = minimize(
        lambda x: x[0], [1.0], bounds=[(1.0, 1.0)], constraints=at_least(lambda x: x[0], 3.0, "up")
    )
    assert fixed.relaxation == pytest.approx({"up > 3": 2.0})
    assert minimize(lambda x: x @ x, [1.0]).relaxation == {}
