"""benchmarks/SEARCH.md says what the records say."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.search_page import cost, page, share
from benchmarks.search_problems import PROBLEMS

TWO = {"g01": PROBLEMS["g01"], "bird": PROBLEMS["bird"]}


def run(method: str, problem: str, seed: int, hit: int | None, budget: int = 20_000) -> dict[str, Any]:
    return {
        "method": method, "problem": problem, "seed": seed, "budget": budget, "version": "-", "hit": hit,
        "nfev": hit or budget, "seconds": 0.1, "failure": None,
    }  # fmt: skip


RUNS = [
    run("search", "g01", 0, 100),
    run("search", "g01", 1, 7_000),
    run("search", "bird", 0, 50),
    run("search", "bird", 1, None),
    run("shgo", "g01", 0, None),
    run("shgo", "bird", 0, 200),
]


def test_shares_count_hits_within_the_budget() -> None:
    ours = RUNS[:4]
    assert share(ours, TWO, 5_000) == 50.0
    assert share(ours, TWO, 20_000) == 75.0
    assert share(ours, TWO, 20_000, many=True) == 50.0
    assert share(ours, TWO, 20_000, many=False) == 100.0


def test_costs_are_compared_where_both_hit() -> None:
    assert cost(RUNS, TWO, "shgo") == pytest.approx(4.0)
    assert cost(RUNS, TWO, "search") == pytest.approx(1.0)


def test_the_page_names_misses_and_leaves_unfinished_seeds_out() -> None:
    text = page([*RUNS, run("CMA-ES on penalize", "g01", 0, 10)], TWO)
    assert "CMA-ES on penalize" not in text
    assert "| 12 with many minima, 20,000 evaluations | ≥ 85 % | 50.0 % | missed |" in text
    assert "in 50 % of its runs with 50 evaluations in the median: shgo (100 %, 200)." in text


def test_the_page_says_how_the_search_ended() -> None:
    stop = {"method": "stop", "budget": 10_000, "version": "-", "fun": 0.0, "solves": 8, "nfev": 90}
    good, bad = {"best_in_hand": True, "success": True}, {"best_in_hand": False, "success": False}
    ends = [
        {**stop, "problem": "bird", "seed": 0, "stopped": "COMPLETE", **good},
        {**stop, "problem": "g01", "seed": 1, "stopped": "COMPLETE", **bad},
        {**stop, "problem": "g20", "seed": 0, "stopped": "EVALUATIONS", **bad},
    ]
    text = page([*RUNS, *ends], TWO)
    assert "(2 stops) | ≥ 95 % | 50.0 % | missed |" in text
    assert "Ended without the best known in hand: g01 (seed 1)." in text
