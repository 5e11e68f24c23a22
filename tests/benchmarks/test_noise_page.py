"""benchmarks/NOISE.md says what the records say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("optiprofiler")

from benchmarks import noise, noise_page


def record(solver: str, name: str, gap: float, points: int, first: int | None, **more: Any) -> dict[str, Any]:
    known = noise.best_values()[name]
    hits = [first] * 3 + [None] * (len(noise.ACCURACIES) - 3)  # τ = 0.1, 0.01, 0.001
    return {
        "problem": name, "solver": solver, "level": 1e-3, "kind": "random", "seed": 0, "n": 2,
        "violation": 0.0, "f": known + gap * max(1.0, abs(known)), "success": True, "points": points,
        "first": hits, "seconds": 0.1, "in_functions": 0.04,
    } | more  # fmt: skip


RECORDS = [
    record("softpenalty", "HS1", 0.5e-3, 60, 30),
    record("softpenalty", "HS2", 0.5, 30, None),
    record("cobyla", "HS1", 0.5e-2, 15, 45),
    record("cobyla", "HS2", 0.5e-1, 15, None),
]


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    return noise_page.summarize(RECORDS)


def test_shares_count_what_is_returned(summary: dict[str, Any]) -> None:
    ours, cobyla = noise_page.select(summary, "random", 1e-3)
    assert ours["solved"] == [50.0, 50.0, 50.0] and cobyla["solved"] == [100.0, 50.0, 0.0]
    assert ours["simulations"] == 15.0 and cobyla["simulations"] == 5.0
    (held_back,) = (
        e for e in noise_page.select(summary, "random", 1e-3, "held back") if e["solver"] == "cobyla"
    )
    assert held_back["runs"] == 1  # HS1 is the first problem of all


def test_data_profiles_count_the_first_point_that_meets_the_test(summary: dict[str, Any]) -> None:
    ours, cobyla = noise_page.select(summary, "random", 1e-3)
    at = {k: int(np.searchsorted(noise_page.GRID, k)) for k in (5, 10, 15, 100)}
    assert [ours["profile"][at[k]] for k in (5, 10, 100)] == [0.0, 50.0, 50.0]
    assert [cobyla["profile"][at[k]] for k in (10, 15, 100)] == [0.0, 50.0, 50.0]


def test_claims_and_own_time(summary: dict[str, Any]) -> None:
    assert (summary["true claims"], summary["claims"]) == (1, 2)
    assert summary["own milliseconds"] == pytest.approx(1e3 * 0.12 / 90, abs=0.01)


def test_peers_that_are_better_are_named_with_a_reason(summary: dict[str, Any]) -> None:
    text = "\n".join(noise_page.better(summary))
    assert "τ = 0.1 (50): SciPy COBYLA 100" in text
    assert "random 0.001 (15): SciPy COBYLA 5" in text
    assert "Data profiles" not in text  # ours is nowhere behind
    assert all("Why: " in line for line in text.splitlines())


def test_the_page_says_which_seeds_there_are(summary: dict[str, Any]) -> None:
    assert noise_page.seeds(summary) == "random 0.001: 1 for ours, 1 for peers"
    assert "| softpenalty | 50 | 50 | 50 | 15 | 2 |" in "\n".join(noise_page.page(summary))


def test_the_section_of_the_results_page_is_from_the_summary_on_file(
    summary: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise_page, "SUMMARY", tmp_path / "summary.json")
    assert noise_page.section() == ""
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert "[NOISE.md](NOISE.md)" in noise_page.section()
    assert "| random 0.001 | 0.001 | 50 | 0 | – | – | – | 15 |" in noise_page.section()


def test_every_point_simulated_is_judged_without_noise() -> None:
    problem = noise.Noisy("HS1", 0.5, "random", 0)
    known = noise.best_values()["HS1"]
    problem.simulate(problem.x0)
    problem.simulate(np.ones(2))  # the solution
    problem.simulate(np.ones(2))
    assert len(problem.exact) == 2
    assert problem.first(1e-8, known) == 2
    assert problem.first(1e3, known) == 1
    assert problem.violation(np.array([0.0, -2.0]), np.zeros(0)) == 0.5  # x₂ ≥ −1.5
