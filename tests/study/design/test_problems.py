"""The random problems: seeds, feasibility, exact solutions."""

import numpy as np
import pytest
from scipy.optimize import linprog

from softpenalty.study import StudyError
from softpenalty.study.design.experiments import DIMENSIONS
from softpenalty.study.design.problems import KINDS, draw


@pytest.mark.parametrize("kind", KINDS)
def test_a_problem_can_be_drawn_again_alone(kind):
    first, again = draw(kind, 5, 7, seed=2021), draw(kind, 5, 7, seed=2021)
    for name in ("x0", "objective", "normals", "upper", "lower"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert first.radius == again.radius


@pytest.mark.parametrize("change", [{"seed": 1}, {"kind": "spheres"}, {"dimension": 6}, {"index": 8}])
def test_every_part_of_the_seed_changes_the_problem(change):
    key = {"kind": "planes", "dimension": 5, "index": 7, "seed": 2021}
    assert not np.array_equal(draw(**key).x0[:5], draw(**(key | change)).x0[:5])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_draws_stay_in_their_ranges(kind, dimension):
    for index in range(20):
        problem = draw(kind, dimension, index, seed=1)
        assert np.all(np.abs(problem.x0) <= 250.0)
        assert 0.01 <= np.linalg.norm(problem.objective) <= 5.0
        if kind == "spheres":
            assert 5.0 <= problem.radius <= 20.0
        else:
            facing = np.diag(problem.normals)
            assert np.allclose(np.linalg.norm(problem.normals, axis=1), 1.0)
            for side in (problem.upper / facing, problem.lower / facing):
                assert np.all((side >= 10.0 - 1e-9) & (side <= 25.0 + 1e-9))


@pytest.mark.parametrize("dimension", [2, 5, 12, 50])
def test_solution_of_planes_is_that_of_the_linear_program(dimension):
    for index in range(20):
        problem = draw("planes", dimension, index, seed=2021)
        both = np.concatenate([problem.normals, -problem.normals])
        sides = np.concatenate([problem.upper, problem.lower])
        highs = linprog(problem.objective, A_ub=both, b_ub=sides, bounds=(None, None), method="highs")
        assert (highs.status == 0) == problem.feasible
        if problem.feasible:
            solution = problem.solution()
            assert np.allclose(solution, highs.x, atol=1e-9)  # HiGHS' feasibility tolerance is 1e-7
            assert np.sum(np.abs(problem.errors(solution)) < 1e-9) == dimension  # exactly N are active


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimension", [2, 12, 50])
def test_solution_is_stationary_with_its_multipliers(kind, dimension):
    problem = draw(kind, dimension, 3, seed=2021, mode="corrected")
    x, multipliers = problem.solution(), problem.multipliers()
    if kind == "spheres":
        jacobian = (x / np.linalg.norm(x))[None]
    else:
        jacobian = np.concatenate([problem.normals, -problem.normals])
    assert np.allclose(problem.objective + jacobian.T @ multipliers, 0.0, atol=1e-12)
    assert np.allclose(multipliers * problem.errors(x), 0.0, atol=1e-12)


def test_share_of_infeasible_problems_is_the_published_one():
    for dimension, low, high in ((2, 0.0, 0.0), (3, 0.0, 0.0), (5, 0.002, 0.02), (12, 0.01, 0.045)):
        share = np.mean([not draw("planes", dimension, i, seed=2021).feasible for i in range(1000)])
        assert low <= share <= high  # 0.9 % at N=5 and 2.4 % at N=12, within three standard deviations


def test_corrected_problems_are_feasible_and_the_others_unchanged():
    for index in range(200):
        published, corrected = (
            draw("planes", 12, index, seed=2021, mode=mode) for mode in ("published", "corrected")
        )
        assert corrected.feasible
        assert published.feasible == np.array_equal(published.x0, corrected.x0)


def test_reference_of_a_feasible_problem_is_its_solution():
    problem = draw("planes", 8, 0, seed=2021, mode="corrected")
    near = problem.solution() + 1e-3 * np.random.default_rng(0).normal(size=(4, 8))
    assert np.allclose(problem.reference(near), problem.solution())


@pytest.mark.parametrize("wrong", [{"kind": "cubes"}, {"dimension": 1}, {"mode": "better"}])
def test_bad_draws_are_refused(wrong):
    with pytest.raises(StudyError, match=next(iter(wrong))):
        draw(**({"kind": "planes", "dimension": 2, "index": 0, "seed": 0} | wrong))
