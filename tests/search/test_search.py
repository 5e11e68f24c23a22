"""`search` as its users see it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softpenalty
from softpenalty import Constraint, minimize, search
from softpenalty.multistart.box import Box
from softpenalty.multistart.result import SearchResult, Stop
from softpenalty.multistart.work import Statement, Task, work
from softpenalty.types import Array

START = np.array([3.2, 1.9, -4.1, 2.2])
BOX = [(-1.0, 0.75), (-1.0, 1.0)]


def hills(x: Array) -> float:
    """Gomez and Levy's objective: several minima, the best one −1.0316 at (0.0898, −0.7127)."""
    a, b = x
    return float(4 * a**2 - 2.1 * a**4 + a**6 / 3 + a * b - 4 * b**2 + 4 * b**4)


def islands(x: Array) -> float:
    """Positive in the sea between Gomez and Levy's islands."""
    return float(2 * np.sin(2 * np.pi * x[1]) ** 2 - np.sin(4 * np.pi * x[0]) - 1.5)


ISLANDS = Constraint(islands, "<", 0.0, name="islands")


def bowl(x: Array) -> float:
    return float(np.sum((x - 0.3) ** 2))


def rastrigin(x: Array) -> float:
    return float(10 * x.size + np.sum(x**2 - 10 * np.cos(2 * np.pi * x)))


def same(first: SearchResult, second: SearchResult) -> bool:
    """Whether two searches went the same way."""
    ways = [
        (r.nfev, r.solves, r.aborted, r.samples, r.stop, r.estimate, r.x.tolist()) for r in (first, second)
    ]
    minima = [[(m.fun, m.count, m.nfev, m.x.tolist()) for m in r.minima] for r in (first, second)]
    return ways[0] == ways[1] and minima[0] == minima[1]


# --- what it finds ----------------------------------------------------------------------------------------


def test_the_best_of_several_minima() -> None:
    result = search(hills, BOX, ISLANDS, rng=0, maxfev=3000)
    assert result.success
    assert result.x == pytest.approx([0.08984, -0.71266], abs=1e-4)  # to four digits, as published
    assert result.fun == result.minima[0].fun == min(minimum.fun for minimum in result.minima)
    assert len(result.minima) > 3
    assert sum(minimum.count for minimum in result.minima) + result.infeasible in (
        result.solves,
        result.solves - 1,
    )
    assert result.aborted > 0
    assert result.multipliers["islands"].shape == (1,)


def test_it_finds_what_a_single_solve_misses() -> None:
    box = [(-5.12, 5.12)] * 4
    single = minimize(rastrigin, START, bounds=box)
    assert single.success
    assert single.fun > 1.0
    result = search(rastrigin, box, x0=START, rng=0, maxfev=10_000, stop=None)
    assert result.fun == pytest.approx(0.0, abs=1e-6)


def test_the_result_is_that_of_minimize_with_more() -> None:
    result = search(hills, BOX, ISLANDS, rng=0, max_solves=4)
    single = minimize(hills, result.x, bounds=BOX, constraints=ISLANDS)
    assert set(single) <= set(result)
    assert isinstance(result, softpenalty.Result)


def test_one_minimum_ends_the_search_soon() -> None:
    result = search(bowl, [(-1.0, 1.0)] * 3, rng=0)
    assert result.stop is Stop.COMPLETE
    assert len(result.minima) == 1
    assert result.estimate.starts >= 7  # one level in seven starts leaves half a level
    assert result.solves < 30


def test_many_minima_do_not_end_it() -> None:
    result = search(rastrigin, [(-5.12, 5.12)] * 3, rng=0, maxfev=3000)
    assert result.stop is Stop.EVALUATIONS
    assert result.estimate.expected > result.estimate.found + 0.5


def test_the_given_start_is_solved_first() -> None:
    seen: list[Array] = []

    def watched(x: Array) -> float:
        seen.append(x.copy())
        return bowl(x)

    search(watched, [(-1.0, 1.0)] * 2, x0=[0.9, -2.0], rng=0, max_solves=1)
    assert seen[0] == pytest.approx([0.9, -1.0], rel=1e-14)  # moved inside the bounds, but for rounding


def test_fixed_variables_stay() -> None:
    result = search(bowl, [(-1.0, 1.0), (0.5, 0.5)], rng=0, max_solves=5)
    assert result.x == pytest.approx([0.3, 0.5], abs=1e-6)


def test_an_infeasible_problem_is_no_success() -> None:
    far = Constraint(lambda x: x[0], ">", 3.0)
    result = search(bowl, [(-1.0, 1.0)] * 2, far, rng=0, max_solves=8)
    assert not result.success
    assert result.minima == []
    assert result.infeasible == 8
    assert result.maxcv == pytest.approx(2.0)
    assert "No feasible point was found" in result.report()


def test_args_and_jac_are_passed_on() -> None:
    calls = []

    def slope(x: Array, where: float) -> Array:
        calls.append(where)
        return 2 * (x - where)

    result = search(
        lambda x, where: float(np.sum((x - where) ** 2)),
        [(-1, 1)] * 2,
        jac=slope,
        args=(0.2,),
        rng=0,
        max_solves=3,
    )
    assert result.x == pytest.approx([0.2, 0.2])
    assert set(calls) == {0.2}


def test_objective_and_gradient_in_one() -> None:
    result = search(lambda x: (bowl(x), 2 * (x - 0.3)), [(-1.0, 1.0)] * 2, jac=True, rng=0, max_solves=6)
    assert result.x == pytest.approx([0.3, 0.3])


# --- repeatable -------------------------------------------------------------------------------------------


def test_targets_may_be_vectors() -> None:
    row = Constraint(lambda x: x, ">", [0.2, 0.3])
    result = search(lambda x: float((x**2).sum()), [(0, 1)] * 2, row, rng=0, max_solves=8)
    assert result.success
    assert result.x == pytest.approx([0.2, 0.3], abs=1e-6)


def test_the_same_seed_gives_the_same_result() -> None:
    first = search(hills, BOX, ISLANDS, rng=3, maxfev=1500, stop=None)
    assert same(first, search(hills, BOX, ISLANDS, rng=3, maxfev=1500, stop=None))
    assert same(first, search(hills, BOX, ISLANDS, rng=np.random.default_rng(3), maxfev=1500, stop=None))
    assert not same(first, search(hills, BOX, ISLANDS, rng=4, maxfev=1500, stop=None))


def test_vectorized_functions_go_the_same_way() -> None:
    shapes = []

    def many(x: Array) -> Array:
        shapes.append(x.shape)
        return 10 * len(x) + np.sum(x**2 - 10 * np.cos(2 * np.pi * x), axis=0)

    box, above = [(-5.12, 5.12)] * 3, Constraint(lambda x: x[0] + x[1], ">", 0.7)
    result = search(many, box, above, vectorized=True, rng=0, maxfev=1500, stop=None)
    assert any(len(shape) == 2 and shape[1] > 10 for shape in shapes)
    plain = search(many, box, above, rng=0, maxfev=1500, stop=None)
    assert same(result, plain)


# --- limits -----------------------------------------------------------------------------------------------


def test_evaluations_are_counted_and_limited() -> None:
    calls = 0

    def counted(x: Array) -> float:
        nonlocal calls
        calls += 1
        return rastrigin(x)

    result = search(counted, [(-5.12, 5.12)] * 3, rng=0, maxfev=500, stop=None)
    assert result.stop is Stop.EVALUATIONS
    assert result.nfev == calls
    assert 495 <= calls <= 500  # with fewer than five left no solve gets anywhere


def test_a_solve_that_a_limit_cuts_off_is_no_minimum() -> None:
    cut = 0
    for limit in range(300, 420, 20):
        result = search(rastrigin, [(-5.12, 5.12)] * 3, rng=0, maxfev=limit, stop=None)
        assert all(minimum.success for minimum in result.minima)
        cut += sum(minimum.count for minimum in result.minima) < result.solves
    assert cut > 0


def test_time_ends_the_samples_too() -> None:
    calls = 0

    def slow(x: Array) -> float:
        nonlocal calls
        calls += 1
        time.sleep(0.02 if calls > 30 else 0.0)
        return bowl(x)

    box = Box.read([(-1.0, 1.0)] * 2)
    points = np.random.default_rng(0).random((60, 2))
    none = np.zeros((0, 2))
    task = Task("sample", points, np.zeros(0), none, np.zeros(0), [], max_time=0.1)
    answer = work(Statement(slow, box, (), None, (), False, {}), task)
    assert 30 <= len(answer.points) < 60
    assert answer.points.tolist() == points[: len(answer.points)].tolist()


def test_solves_are_limited() -> None:
    result = search(rastrigin, [(-5.12, 5.12)] * 3, rng=0, max_solves=7)
    assert (result.solves, result.stop) == (7, Stop.SOLVES)


def test_without_limits_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["softpenalty.multistart.search"], "SOLVES", 5)
    assert search(rastrigin, [(-5.12, 5.12)] * 3, rng=0).solves == 5


def test_time_is_limited() -> None:
    def slow(x: Array) -> float:
        time.sleep(2e-3)
        return rastrigin(x)

    start = time.perf_counter()
    result = search(slow, [(-5.12, 5.12)] * 3, rng=0, max_time=0.3, stop=None)
    assert result.stop is Stop.TIME
    assert time.perf_counter() - start < 3.0  # an iteration takes some 10 ms, a busy machine longer


def test_options_reach_every_solve() -> None:
    result = search(rastrigin, [(-5.12, 5.12)] * 3, rng=0, max_solves=3, options={"maxiter": 2})
    assert all(minimum.result.nit <= 2 for minimum in result.minima)
    assert not result.success


# --- failures, callback, Ctrl-C, progress -----------------------------------------------------------------


def test_failing_points_are_survived_and_counted() -> None:
    def fragile(x: Array) -> float:
        if x[0] > 0.5:
            raise ArithmeticError("no solution")
        return float("nan") if x[1] > 0.8 else bowl(x)

    result = search(fragile, [(-1.0, 1.0)] * 2, rng=0, max_solves=10, stop=None)
    assert result.success
    assert result.x == pytest.approx([0.3, 0.3], abs=1e-6)
    assert result.failures > 0


def test_failures_can_be_raised() -> None:
    def fragile(x: Array) -> float:
        if x[0] > 0.9:
            raise ArithmeticError("no solution")
        return rastrigin(x)

    with pytest.raises(ArithmeticError, match="no solution"):
        search(fragile, [(-1.0, 1.0)] * 2, rng=0, stop=None, options={"on_failure": "raise"})


def test_functions_that_always_fail_end_without_a_claim() -> None:
    def broken(x: Array) -> float:
        raise ArithmeticError("never")

    result = search(broken, [(-1.0, 1.0)] * 2, Constraint(broken, "<", 0.0), rng=0, max_solves=3)
    assert not result.success
    assert result.minima == []


def test_mistakes_pass_through() -> None:
    def wrong(x: Array) -> float:
        return x.no_such_thing  # type: ignore[attr-defined, no-any-return]

    with pytest.raises(AttributeError, match="no_such_thing"):
        search(wrong, [(-1.0, 1.0)] * 2)


def test_the_callback_sees_each_solve_and_can_stop() -> None:
    seen = []

    def watch(intermediate_result: SearchResult) -> None:
        seen.append(intermediate_result.solves)
        if intermediate_result.solves == 4:
            raise StopIteration

    result = search(rastrigin, [(-5.12, 5.12)] * 2, rng=0, callback=watch)
    assert seen == [1, 2, 3, 4]
    assert (result.solves, result.stop) == (4, Stop.CALLBACK)


def interrupting(fun: Callable[[Array], float], after: int) -> Callable[[Array], float]:
    """`fun` during whose evaluation number `after` the user presses Ctrl-C."""
    calls = 0

    def interrupted(x: Array) -> float:
        nonlocal calls
        calls += 1
        if calls == after:
            raise KeyboardInterrupt
        return fun(x)

    return interrupted


def test_ctrl_c_returns_the_best_so_far() -> None:
    result = search(interrupting(rastrigin, 900), [(-5.12, 5.12)] * 3, rng=0, stop=None)
    assert result.stop is Stop.INTERRUPTED
    assert result.success
    assert result.fun == min(minimum.fun for minimum in result.minima)


def test_ctrl_c_in_the_first_solve_returns_its_last_iterate() -> None:
    result = search(interrupting(rastrigin, 25), [(-5.12, 5.12)] * 3, rng=0)
    assert (result.stop, result.success, result.solves) == (Stop.INTERRUPTED, False, 1)
    assert result.fun == rastrigin(result.x)
    assert "Interrupted" in result.report()


def test_progress_is_shown_only_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    search(bowl, [(-1.0, 1.0)] * 2, rng=0, max_solves=3)
    assert capsys.readouterr() == ("", "")
    search(bowl, [(-1.0, 1.0)] * 2, rng=0, max_solves=3, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()  # at most one a second, but the first and the last
    assert lines[0].startswith("1 solves, ")
    assert lines[-1].startswith("3 solves, ")
    assert "best" in lines[-1]


# --- what is said -----------------------------------------------------------------------------------------


def test_the_report_says_what_is_known() -> None:
    report = search(hills, BOX, ISLANDS, rng=0, maxfev=3000).report()
    assert "distinct minima, best first:" in report
    assert "nothing here proves that the best one is global" in report
    assert "What holds the objective back" in report or "No constraint holds" in report
    short = search(rastrigin, [(-5.12, 5.12)] * 3, rng=0, max_solves=12, stop=None).report()
    assert "too few to say" in short


def test_the_plot_shows_all_minima() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    result = search(hills, BOX, ISLANDS, rng=0, maxfev=1000, stop=None)
    axes = result.plot()
    found = axes[0].lines[0].get_ydata()
    assert found[-1] == len(result.minima)
    assert sum(len(points.get_offsets()) for points in axes[1].collections) == len(result.minima)
    assert len(axes[2].lines) == len(result.minima) + 1
    pyplot.close("all")
    nothing = search(bowl, [(-1.0, 1.0)], Constraint(lambda x: x[0], ">", 3.0), rng=0, max_solves=2)
    nothing.plot()
    pyplot.close("all")


# --- wrong arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({"bounds": [(0, np.inf)]}, ValueError, "must be finite"),
        ({"stop": "soon"}, ValueError, r"stop=...\)` must be 'estimate' or None; got 'soon'"),
        ({"maxfev": 0}, ValueError, r"maxfev=...\)` must be positive or None; got 0"),
        ({"max_time": -1.0}, ValueError, "max_time"),
        ({"max_solves": "all"}, ValueError, "max_solves"),
        ({"x0": [1.0]}, ValueError, r"x0=...\)` must have a finite number for each of the 2"),
        ({"x0": ["a", "b"]}, TypeError, "x0"),
        ({"x0": [np.nan, 0.0]}, ValueError, "x0"),
        ({"workers": "two"}, TypeError, r"workers=...\)` must be a number of processes"),
        ({"workers": 0}, TypeError, "workers"),
        ({"vectorized": True, "jac": True}, ValueError, "needs a `jac` of its own"),
        ({"callback": 3}, TypeError, "callback"),
        ({"options": {"maxiter": -1}}, ValueError, "maxiter"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        search(bowl, **{"bounds": [(-1.0, 1.0)] * 2, **arguments})


# --- checkpoint -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [1, 4, 15])
def test_a_search_goes_on_from_its_checkpoint_as_if_nothing_had_been(tmp_path: Path, after: int) -> None:
    whole = search(hills, BOX, ISLANDS, rng=5, max_solves=25, stop=None)
    options = {"checkpoint": tmp_path / "run" / "search.jsonl", "resume": True}
    search(hills, BOX, ISLANDS, rng=5, max_solves=after, stop=None, options=options)
    calls = 0

    def counted(x: Array) -> float:
        nonlocal calls
        calls += 1
        return hills(x)

    # Another seed does not matter: that of the file counts.
    rest = search(counted, BOX, ISLANDS, rng=99, max_solves=25, stop=None, options=options)
    assert same(whole, rest)
    assert calls < whole.nfev
    assert set(whole) == set(rest)
    assert rest.report() == whole.report()
    again = search(counted, BOX, ISLANDS, max_solves=25, stop=None, options=options)
    assert same(whole, again)


def test_a_solve_that_a_limit_cut_off_is_made_again(tmp_path: Path) -> None:
    box = [(-5.12, 5.12)] * 3
    whole = search(rastrigin, box, rng=0, maxfev=900, stop=None)
    options = {"checkpoint": tmp_path / "search.jsonl", "resume": True}
    for limit in (333, 610, 900):
        result = search(rastrigin, box, rng=0, maxfev=limit, stop=None, options=options)
        assert result.nfev <= limit
    assert same(whole, result)


def test_a_torn_line_is_computed_again(tmp_path: Path) -> None:
    file = tmp_path / "search.jsonl"
    options = {"checkpoint": file, "resume": True}
    whole = search(hills, BOX, ISLANDS, rng=5, max_solves=8, stop=None, options={"checkpoint": file})
    file.write_bytes(file.read_bytes()[:-40])
    assert same(whole, search(hills, BOX, ISLANDS, max_solves=8, stop=None, options=options))
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 9


def test_a_checkpoint_of_another_problem_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "search.jsonl"
    search(hills, BOX, ISLANDS, rng=5, max_solves=2, options={"checkpoint": file})
    before = file.read_bytes()
    with pytest.raises(ValueError, match=r"exists. Pass 'resume': True"):
        search(hills, BOX, ISLANDS, rng=5, max_solves=2, options={"checkpoint": file})
    other = Constraint(islands, "<", 0.0, name="other")
    narrow = [(-1.0, 0.5), (-1.0, 1.0)]
    for arguments in ((hills, narrow, ISLANDS), (hills, BOX, other), (bowl, BOX, ISLANDS)):
        with pytest.raises(ValueError, match="belongs to another problem"):
            search(*arguments, max_solves=2, options={"checkpoint": file, "resume": True})
    foreign = tmp_path / "notes.txt"
    foreign.write_text("shopping list")
    with pytest.raises(ValueError, match="belongs to another problem"):
        search(hills, BOX, max_solves=2, options={"checkpoint": foreign, "resume": True})
    assert file.read_bytes() == before
    assert foreign.read_text() == "shopping list"
