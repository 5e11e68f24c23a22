import numpy as np
import pytest

from benchmarks import comparison


def test_performance_profile():
    costs = {"a": {"P": 10.0, "Q": 30.0}, "b": {"P": 20.0, "R": 5.0}}
    ratios = comparison.performance_profile(costs, ["P", "Q", "R", "S"])
    np.testing.assert_array_equal(ratios["a"], [1.0, 1.0, np.inf, np.inf])
    np.testing.assert_array_equal(ratios["b"], [1.0, 2.0, np.inf, np.inf])


def test_pairs():
    costs, reference = {"P": 1.0, "Q": 8.0, "R": 4.0, "S": 1.0}, {"P": 2.0, "Q": 4.0, "R": 4.0, "T": 1.0}
    found = comparison.pair(costs, reference)
    assert (found.common, found.fewer, found.more) == (3, 1, 1)
    assert found.ratio == pytest.approx(1.0)
    assert found.p == pytest.approx(1.0)
    ten = {str(i): 1.0 for i in range(10)}
    assert comparison.pair(ten, dict.fromkeys(ten, 2.0)).p == pytest.approx(2 / 2**10)
    assert comparison.pair({"P": 1.0}, {"Q": 1.0}) is None
    assert comparison.pair({"P": 0.0}, {"P": 1.0}) is None  # no gradients at all


def test_fitted_exponent():
    sizes = np.array([10.0, 20.0, 40.0])
    assert comparison.fitted_exponent(sizes, 3.0 * sizes**2.5) == pytest.approx(2.5)


def record(solver, problem="P", version="1", repetition=0, **changes):
    return {
        "problem": problem,
        "variant": "plain",
        "solver": solver,
        "repetition": repetition,
        "version": version,
        "success": True,
        "message": "",
        "nit": 3,
        "nfev": 4,
        "njev": 4,
        "own": 1.0,
        "objective": 1.0,
        "violation": 0.0,
        "stationarity": 0.0,
        "time": "2025-01-01T00:00:00",
    } | changes


def test_latest_version_counts_and_repetitions_come_together():
    found = comparison.Comparison(
        [
            record("slsqp", version="1", njev=99),
            record("slsqp", version="2"),
            record("slsqp", version="2", repetition=1, own=3.0),
            record("uno", objective=2.0, stationarity=0.5),
        ]
    )
    assert found.costs("slsqp", comparison.gradients) == {"P": 4}
    assert found.of("slsqp")["P"].own == [1.0, 3.0]
    assert comparison.spread(found.of("slsqp").values()) == pytest.approx(1.0)
    assert found.solved("uno") == set()
    assert found.false_successes("uno") == ["P"]
    assert found.false_successes("slsqp") == []


def test_scaled_variants_do_not_move_the_plain_verdicts():
    found = comparison.Comparison([record("slsqp"), record("slsqp", variant="rows", objective=0.5)])
    assert found.solved("slsqp") == found.solved("slsqp", "rows") == {"P"}
