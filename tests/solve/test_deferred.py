"""Fields of a result that are made when they are looked at: nobody can tell."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from softpenalty import Constraint, minimize
from softpenalty.solve.deferred import DeferredResult

LATE = {"labels", "operators", "names", "active", "violations", "history"}


def solved():
    area = Constraint(lambda x: x[0] * x[1], ">", 25.0, name="area")
    return minimize(lambda x: x[0] + x[1], [9.0, 1.0], constraints=area)


def counted():
    """A result with one late field, and how often it was made."""
    result, made = DeferredResult(x=1.0), []

    def make():
        made.append(True)
        return {"late": 2.0}

    result.defer(make)
    return result, made


@pytest.mark.parametrize(
    "look",
    [
        lambda r: r.late == r["late"] == r.get("late") == 2.0,
        lambda r: "late" in r and "other" not in r,
        lambda r: len(r) == 2 and set(r) == {"x", "late"},
        lambda r: dict(r) == {"x": 1.0, "late": 2.0} == {**r},
        lambda r: sorted(r.items()) == [("late", 2.0), ("x", 1.0)] and sorted(r.values()) == [1.0, 2.0],
        lambda r: copy.copy(r) == r == pickle.loads(pickle.dumps(r)),
        lambda r: dir(r) == ["late", "x"] and "late" in repr(r),
        lambda r: r.pop("late") == 2.0 and list(r) == ["x"],
        lambda r: (r | {"y": 3.0}) == {"x": 1.0, "late": 2.0, "y": 3.0},
    ],
)
def test_whoever_looks_sees_all_of_it_and_it_is_made_once(look):
    result, made = counted()
    assert not made
    assert look(result)
    assert look(counted()[0])
    assert len(made) == 1


def test_what_is_there_already_is_no_reason_to_make_the_rest():
    result, made = counted()
    assert result.x == result["x"] == 1.0
    assert not made


def test_what_does_not_exist_is_an_error_as_ever():
    for _ in range(2):
        result, _ = counted()
        with pytest.raises(KeyError, match="other"):
            result["other"]
        with pytest.raises(AttributeError, match="other"):
            _ = result.other


def test_late_fields_tell_of_the_solve_and_not_of_what_became_of_its_arrays():
    changed, kept = solved(), solved()
    changed.x[:] = np.nan
    changed.errors[:] = np.nan
    assert set(changed) >= LATE
    assert changed.active == kept.active == ["area > 25"]
    np.testing.assert_array_equal(changed.violations, kept.violations)
    assert changed.history[-1]["nit"] == changed.nit
