"""The parts of `search`: box, estimate, hops, samples and minima."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softpenalty import Constraint
from softpenalty.multistart.box import Box
from softpenalty.multistart.estimate import Estimate
from softpenalty.multistart.hops import AWAY, HOPS, STEPS, Mix
from softpenalty.multistart.minima import Minima
from softpenalty.multistart.plan import ITERATIONS, PATIENCE, Plan
from softpenalty.multistart.samples import UNKNOWN_WORTH, WORTH, Samples
from softpenalty.multistart.work import Answer, Statement, Task, merits, work
from softpenalty.solve.result import Result
from softpenalty.types import Array

SEEDS = st.integers(0, 10_000)


# --- box --------------------------------------------------------------------------------------------------


def test_box_leaves_fixed_variables_out() -> None:
    box = Box.read([(-1.0, 3.0), (5.0, 5.0), (0.0, 10.0)])
    assert box.point(np.array([0.5, 0.1])).tolist() == [1.0, 5.0, 1.0]
    assert box.unit(np.array([1.0, 5.0, 1.0])).tolist() == [0.5, 0.1]


@pytest.mark.parametrize("bounds", [[(0.0, np.inf)], [(-np.inf, 1.0), (0.0, 1.0)], [(None, 1.0)]])
def test_bounds_must_be_finite(bounds: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match=r"`search\(bounds=...\)` must be finite.*x\[0\].*`minimize`"):
        Box.read(bounds)


@pytest.mark.parametrize(
    ("bounds", "complaint"),
    [(None, "must be given"), ([(1.0, 1.0)], "must leave a variable free"), ([], "an entry")],
)
def test_bounds_that_make_no_box(bounds: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Box.read(bounds)


# --- estimate ---------------------------------------------------------------------------------------------


def test_estimate_is_that_of_boender_and_rinnooy_kan() -> None:
    estimate = Estimate(found=3, starts=20)
    assert estimate.expected == pytest.approx(3 * 19 / 15)
    assert estimate.covered == pytest.approx(16 * 23 / (20 * 19))


@given(found=st.integers(1, 30), starts=st.integers(0, 3000))
def test_missing_starts_are_just_enough(found: int, starts: int) -> None:
    missing = Estimate(found, starts).missing_starts
    assert Estimate(found, starts + missing).complete
    assert missing == 0 or not Estimate(found, starts + missing - 1).complete


def test_nothing_is_known_of_what_was_not_found() -> None:
    for estimate in (Estimate(0, 0), Estimate(0, 50), Estimate(4, 5)):
        assert (estimate.expected, estimate.covered, estimate.complete) == (math.inf, 0.0, False)


# --- hops -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HOPS)
@given(seed=SEEDS, n=st.integers(1, 12), others=st.integers(0, 3))
def test_hops_stay_in_the_box(kind: str, seed: int, n: int, others: int) -> None:
    rng = np.random.default_rng(seed)
    origin = rng.choice([0.0, 1.0, rng.random()], n)
    points = HOPS[kind](rng, origin, rng.random((others, n)), 7)
    assert points.shape == (7, n)
    assert ((points >= 0.0) & (points <= 1.0)).all()


@given(seed=SEEDS)
def test_redrawn_coordinates_go_away(seed: int) -> None:
    rng = np.random.default_rng(seed)
    origin = rng.random(8)
    points = HOPS["redraw"](rng, origin, origin[None], 20)
    moved = np.abs(points - origin)
    assert (moved[moved > 0] >= AWAY * (1 - 1e-12)).all()  # rounding of the sum
    counts = (moved > 0).sum(axis=1)
    assert 1 <= counts.min() == counts.max() <= 4


@given(seed=SEEDS)
def test_exchanged_coordinates_come_from_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    origin, others = rng.random(6), rng.random((3, 6))
    points = HOPS["exchange"](rng, origin, others, 20)
    assert np.isin(points, np.vstack([origin, others])).all()
    assert (points != origin).any(axis=1).all()


def test_shifts_follow_the_pattern_of_the_minima() -> None:
    rng = np.random.default_rng(0)
    axes = 0.1 * np.linalg.qr(rng.normal(size=(2, 2)))[0]  # a lattice, turned
    lattice = 0.5 + np.array([[i, j] for i in range(-2, 3) for j in range(-2, 3) if (i, j) != (0, 0)]) @ axes
    points = HOPS["shift"](rng, np.full(2, 0.5), lattice, 40)
    steps = (points - 0.5) @ np.linalg.inv(axes)
    assert np.abs(steps - np.round(steps)).max() < 1e-9  # rounding
    assert (np.abs(np.round(steps)).sum(axis=1) == 1).any()  # neighbours on the lattice


@given(seed=SEEDS)
def test_permuted_coordinates_are_the_same_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    origin = rng.random(6)
    points = HOPS["permute"](rng, origin, origin[None], 20)
    assert (np.sort(points, axis=1) == np.sort(origin)).all()


@pytest.mark.parametrize(
    ("kind", "powers"), [("short", STEPS[:2]), ("middle", STEPS[1:3]), ("long", STEPS[2:])]
)
def test_steps_have_one_length(kind: str, powers: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    origin = np.full(5, 0.5)  # no step reaches a bound: the longest is 10^−0.3
    lengths = np.abs(HOPS[kind](rng, origin, origin[None], 30) - origin).max(axis=1)
    reflected = 10.0 ** powers[1] > 0.5
    assert lengths.max() == pytest.approx(lengths.min()) or reflected
    assert 10.0 ** powers[0] * (1 - 1e-12) <= lengths.max() <= 10.0 ** powers[1]


def test_the_mix_follows_what_gains() -> None:
    mix, rng = Mix(), np.random.default_rng(0)
    for kind in mix.trials:
        for _ in range(30):
            mix.see(kind, 1.0 if kind == "permute" else 0.0, 100.0)
    drawn = [mix.draw(rng, 100.0) for _ in range(100)]
    assert drawn.count("permute") > 90


def test_the_mix_counts_gains_an_evaluation() -> None:
    mix, rng = Mix(), np.random.default_rng(0)
    for kind in mix.trials:
        for _ in range(100):
            mix.see(kind, 0.5, 10.0 if kind == "short" else 1000.0)
    drawn = [mix.draw(rng, 100.0) for _ in range(50)]
    assert drawn.count("short") == 50


# --- samples ----------------------------------------------------------------------------------------------


def _answer(
    objectives: list[float], violations: list[list[float]], chosen: int = 0, rival: int = -1
) -> Answer:
    points = np.linspace(0.1, 0.9, len(objectives))[:, None]
    return Answer(
        "sample", rival, points[chosen], chosen, points, np.array(objectives), np.array(violations), Result()
    )


def test_merit_weighs_violations_by_multipliers_and_unknown_rows_by_the_objective() -> None:
    samples = Samples(1, 0)
    samples.keep(
        _answer([0.0, 1.0, 2.0, 3.0, 4.0], [[0.0, 0.0], [1.0, 0.0], [2.0, 5.0], [0.0, 0.0], [0.0, 0.0]])
    )
    samples.learn(Result(multiplier_vector=np.array([-3.0, 0.0])))
    samples.learn(Result(multiplier_vector=np.array([2.0, 0.0])))
    assert samples.spread == 2.0
    assert samples.weights() == pytest.approx([WORTH * 3.0, UNKNOWN_WORTH * 2.0 / 5.0])


def test_the_unused_sample_of_least_merit_is_next() -> None:
    samples = Samples(1, 0)
    samples.keep(_answer([3.0, 1.0, np.nan, 2.0], [[0.0], [0.0], [0.0], [0.0]], chosen=1))
    assert len(samples) == 3  # one failed
    assert samples.least() == (2, 2.0)
    samples.keep(_answer([9.0], [[0.0]], chosen=-1, rival=2))
    assert samples.least() == (0, 3.0)


def test_a_rival_that_was_not_chosen_is_free_again() -> None:
    samples = Samples(1, 0)
    samples.keep(_answer([3.0, 1.0], [[0.0], [0.0]], chosen=1))
    samples.used.add(0)
    samples.keep(_answer([2.0], [[0.0]], chosen=0, rival=0))
    assert samples.least() == (0, 3.0)


def test_failed_candidates_have_infinite_merit() -> None:
    merit = merits(np.array([1.0, np.nan, 2.0]), np.array([[1.0], [0.0], [np.nan]]), np.array([3.0]))
    assert merit.tolist() == [4.0, np.inf, np.inf]


def test_a_sample_without_fresh_candidates_starts_from_the_rival() -> None:
    box = Box.read([(0.0, 1.0)] * 2)
    above = Constraint(lambda x: x[0] + x[1], ">", 0.5)
    statement = Statement(lambda x: float(x @ x), box, above, None, (), False, {})
    none = np.zeros((0, 2))
    task = Task("sample", none, np.ones(1), none, np.zeros(0), [], np.array([0.9, 0.1]), 1.0, 3)
    answer = work(statement, task)
    assert (answer.chosen, answer.start.tolist(), len(answer.points)) == (-1, [0.9, 0.1], 0)
    assert answer.result.x == pytest.approx([0.25, 0.25], abs=1e-6)


def test_candidates_that_all_fail_leave_the_rival() -> None:
    """Also where the rows are known elsewhere, but not yet here."""

    def fragile(x: Array) -> float:
        if x[0] < 0.5:
            raise ArithmeticError("no solution")
        return float(x @ x)

    box = Box.read([(0.0, 1.0)] * 2)
    rows = Constraint(lambda x: x, ">", [0.6, 0.3])
    statement = Statement(fragile, box, rows, None, (), False, {})
    none = np.zeros((0, 2))
    points = np.array([[0.1, 0.1], [0.2, 0.7]])
    task = Task("sample", points, np.ones(2), none, np.zeros(0), [], np.array([0.9, 0.1]), 1.0, 3)
    answer = work(statement, task)
    assert (answer.chosen, answer.failures, answer.violations.shape) == (-1, 2, (2, 2))
    assert answer.result.x == pytest.approx([0.6, 0.3], abs=1e-6)


def _plan() -> Plan:
    return Plan(Box.read([(0.0, 1.0)] * 2), np.random.default_rng(0))


def _taken(plan: Plan, nit: int, success: bool) -> int:
    """The iterations that the next solve may take after one more is finished."""
    result = Result(
        x=np.full(2, 0.5), fun=1.0, success=success, nit=nit, nfev=10, njev=1, nhev=0, failures=0, maxcv=0.0,
        violations=np.zeros(0), targets=np.zeros(0), multiplier_vector=np.zeros(0), status=0,
        failure_messages={},
    )  # fmt: skip
    none = np.zeros((0, 2))
    plan.take(Answer("uniform", -1, np.full(2, 0.2), 0, none, np.zeros(0), np.zeros((0, 0)), result))
    return plan.propose(np.inf, np.inf).maxiter


def test_solves_get_more_iterations_only_where_they_need_them() -> None:
    plan = _plan()
    assert plan.propose(np.inf, np.inf).maxiter == ITERATIONS
    assert _taken(plan, ITERATIONS, success=False) == 2 * ITERATIONS
    assert _taken(plan, 20, success=False) == 2 * ITERATIONS  # it failed for another reason
    assert _taken(plan, 150, success=True) == PATIENCE * 150
    assert _taken(_plan(), 10, success=True) == ITERATIONS


# --- minima -----------------------------------------------------------------------------------------------


def _end(fun: float, success: bool = True) -> Result:
    return Result(x=np.zeros(1), fun=fun, success=success)


def test_minima_are_told_apart_by_place_and_level() -> None:
    minima = Minima()
    minima.add(np.array([0.5]), _end(1.0), 10)
    minima.add(np.array([0.5005]), _end(1.00001), 20)  # the same
    minima.add(np.array([0.7]), _end(1.00001), 30)  # a copy elsewhere, at the same level
    minima.add(np.array([0.5]), _end(0.9), 40)
    assert [minimum.count for minimum in minima.found] == [2, 1, 1]
    assert [minimum.fun for minimum in minima.best_first()] == [0.9, 1.0, 1.00001]
    assert minima.levels() == [0.9, 1.0]


def test_levels_near_zero_are_told_apart_by_the_spread() -> None:
    minima = Minima(spread=10.0)
    minima.add(np.array([0.1]), _end(1e-12), 1)
    minima.add(np.array([0.9]), _end(3e-11), 1)
    assert len(minima.levels()) == 1


def test_a_minimum_keeps_the_result_that_passed_the_test() -> None:
    minima = Minima()
    minima.add(np.array([0.5]), _end(0.99999, success=False), 1)
    minima.add(np.array([0.5]), _end(1.0), 2)
    minima.add(np.array([0.5]), _end(0.99998, success=False), 3)
    assert [(m.fun, m.success, m.count, m.nfev) for m in minima.found] == [(1.0, True, 3, 1)]


def test_gains_fall_with_the_rank() -> None:
    minima = Minima()
    for fun in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0):
        minima.add(np.array([fun / 10]), _end(fun), 1)
    assert minima.gain(0.5) == 1.0
    assert minima.gain(1.5) == pytest.approx(0.8)
    assert minima.gain(2.0) == 0.0  # nothing new
    assert minima.gain(5.5) == 0.0
