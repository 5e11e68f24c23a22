"""The compiled core against the Python it stands for: each function, and whole solves."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import softpenalty.solve.minimize  # marks all functions
from hard_qps import draw
from softpenalty import core
from softpenalty.solve.sqp.curvature.secant import SETTINGS as SECANT
from softpenalty.solve.sqp.subproblem.dual import SETTINGS as DUAL
from softpenalty.solve.sqp.subproblem.path import SETTINGS as PATH
from softpenalty.solve.tolerances import Tolerances

try:
    TWINS: dict[str, Callable[..., Any]] = {
        name: getattr(module, name)
        for module in [importlib.import_module(f"softpenalty.core.{name}") for name in core.MODULES]
        for name in core.REFERENCES
        if hasattr(module, name)
    }
except ImportError:
    TWINS = {}
built = pytest.mark.skipif(not TWINS, reason="the compiled core was not built: make core")


def both(name: str, *arguments: Any) -> tuple[Any, Any]:
    """What the compiled function and the Python one return, each with copies of the arguments."""
    found = []
    for marked in (TWINS, core.REFERENCES):
        arrays, copies = [], []
        for argument in arguments:
            if isinstance(argument, (TWINS["QP"], core.REFERENCES["QP"])):
                own = [getattr(argument, field.name).copy() for field in fields(core.REFERENCES["QP"])]
                copies.append(TWINS["QP"](*own))
            else:
                own = [argument.copy()] if isinstance(argument, np.ndarray) else []
                copies.append(own[0] if own else argument)
            arrays += own
        found.append((marked[name](*copies), arrays))
    for compiled, plain in zip(found[0][1], found[1][1], strict=True):
        # what is changed in place is changed alike, up to rounding
        np.testing.assert_allclose(compiled, plain, rtol=1e-14, atol=0.0)
    return found[0][0], found[1][0]


def agree(name: str, *arguments: Any, rtol: float = 1e-12, atol: float = 1e-14) -> Any:
    """Both return the same but for the order of their sums."""
    compiled, plain = both(name, *arguments)
    assert (compiled is None) == (plain is None)
    if compiled is None:
        return None
    pairs = zip(compiled, plain, strict=True) if isinstance(plain, tuple) else [(compiled, plain)]
    for mine, reference in pairs:
        assert np.shape(mine) == np.shape(reference)
        np.testing.assert_allclose(mine, reference, rtol=rtol, atol=atol)
    return compiled


def alike(name: str, record: str, *arguments: Any, rtol: float = 1e-12) -> Any:
    """Both return a record with the same entries."""
    compiled, plain = both(name, *arguments)
    same_entries(record, compiled, plain, rtol)
    return compiled


def same_entries(record: str, compiled: Any, plain: Any, rtol: float = 1e-12) -> None:
    for field in fields(core.REFERENCES[record]):
        mine, reference = getattr(compiled, field.name), getattr(plain, field.name)
        np.testing.assert_allclose(mine, reference, rtol=rtol, atol=1e-14)


@built
def test_every_marked_function_has_a_twin():
    assert not set(core.REFERENCES) - set(TWINS)
    assert len(TWINS) > 20


@built
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("n", "m"), [(1, 0), (3, 2), (7, 12)])
def test_rows_and_merits(n, m, seed):
    rng = np.random.default_rng(seed)
    x, g, d, z = rng.normal(size=(4, n))
    A, r = rng.normal(size=(m, n)), rng.normal(size=m)
    equality = rng.random(m) < 0.3
    floor = np.where(equality, -1.0, 0.0)
    lengths, weights, target = rng.uniform(0.5, 2.0, (3, m))
    y = rng.normal(size=m)
    point = TWINS["Point"](x, 3.0, r, g, A, lengths)
    local, M = alike("linearize", "Local", point, floor), rng.normal(size=(n, n))
    step = TWINS["Step"](d, y, z, equality, True)
    for B in (M @ M.T, 3.0):
        plan = alike("weigh_step", "Plan", point, B, local, step, floor, weights, 2.0, 0.1, 0.5, rtol=1e-10)
    for units in (None, lengths):
        for name, more in (("BalancedMerit", [0.1]), ("ExactMerit", [])):
            merits = [kind(y, weights, equality, *more) if more else kind(weights, equality)
                for kind in (TWINS[name], core.REFERENCES[name])]  # fmt: skip
            compiled, plain = (merit.penalty(local.b, units) for merit in merits)
            np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-14)
    for share in (-1e3, 1e3):
        (merit, fall), (reference, expected) = both("choose", equality, local, step, plan, 0.1, share)
        assert type(merit).__name__ == type(reference).__name__
        np.testing.assert_allclose(fall, expected, rtol=1e-10, atol=1e-12)
    sizes = TWINS["Sizes"](0.3, np.abs(d), np.abs(x))
    state = TWINS["State"](point, np.zeros((0, 0)), weights, lengths, 1e3, 2.0, sizes, 4, 0.2, 2)
    for spacing in (2.2e-16, rng.uniform(size=1 + m)):
        for noise in (np.zeros(0), rng.uniform(size=m)):
            point.A_noise = noise
            settings = 1e-6, 1e-15, 7.0, 1e-3, 100.0
            mine, reference = both("seen", state, local, step, plan, target, spacing, settings)
            same_entries("Measure", mine.measure, reference.measure)
            for entry in ("y", "z", "violation", "enough", "iteration", "trials"):
                expected = getattr(reference, entry)
                np.testing.assert_allclose(getattr(mine, entry), expected, rtol=1e-12, atol=1e-14)
            assert mine.point is point and mine.sizes is sizes
    rows_of_history = both("row_of", mine, np.ones(m), dict)
    assert [list(map(str, row)) for row in rows_of_history[:1]] == [list(map(str, rows_of_history[1]))]
    walked = []
    for take_in in (TWINS["take_in"], core.REFERENCES["take_in"]):
        sizes = TWINS["Sizes"](0.3, np.abs(d), np.abs(z))
        state = TWINS["State"](point, None, weights, lengths, 1e3, 2.0, sizes, 4, reaches=(1.0, 2.0, 3.0))
        new = TWINS["Point"](z, 2.5, r, 0.1 * d)
        assert take_in(state, new, x, 3) is point and state.point is new
        assert state.reaches[:2] == (2.0, 3.0)
        walked.append(np.array([state.reaches[2], state.f_unit, sizes.unit, *sizes.steepest, *sizes.reach]))
    np.testing.assert_allclose(*walked, rtol=1e-14)
    for enough in (0.0, 2.0):
        agree("relative_residual", z, g, 0.3, np.abs(d), np.abs(x), enough, 1e-3, 100.0)
    for name in ("total_broken", "worst_broken"):
        agree(name, r, floor, lengths)
    agree("broken_rows", r, floor)
    agree("linearized_totals", local.b, rng.normal(size=m), local.v, floor)
    lower, upper = np.where(rng.random(n) < 0.5, -0.5, -np.inf), np.where(rng.random(n) < 0.5, 0.5, np.inf)
    inside = np.clip(x, lower, upper)
    for bounded in (False, True):
        agree("shifted", inside, d, 0.7, lower, upper, bounded, 1e-10, 1e-13)
    agree("steps_to", lower, upper, x)
    agree("units_of", g, A, x * (rng.random(n) < 0.7), lower, upper, 100.0, 1e-15, 20, rtol=1e-10)
    agree("bound_multipliers", z, inside, lower, upper)
    for rounding in (None, np.full(m, 0.5)):
        agree("rows_judged", r, np.ones(m), floor, target, y, 1e-8, rounding)
    compiled, plain = both("holding", r * (rng.random(m) < 0.5), target, equality, inside, lower, upper, 1e-6)
    assert compiled == plain


@built
def test_the_stop_tests():
    """At numbers around every limit, each of them by itself and all the more together."""
    rng, tolerances, seen = np.random.default_rng(0), Tolerances(), set()
    limits = np.array([1e-8, 1e-7, 1e-6, 1e-10, 1e-10, 1e-9, 1e-3, 1e-11, 1e-4])
    for _ in range(4000):
        numbers = limits * rng.choice([0.0, 0.1, 0.99, 1.01, 30.0], 9, p=[0.3, 0.3, 0.2, 0.1, 0.1])
        numbers[3] *= rng.choice([1.0, -1.0])
        measure = TWINS["Measure"](*numbers)
        verdicts = [both(name, measure, tolerances) for name in ("feasible", "nothing_left")]
        verdicts += [both(name, measure, tolerances) for name in ("converged", "attained")]
        y, g, nothing = np.array([rng.choice([0.0, 1e8, 1e10])]), np.ones(2), np.zeros(0)
        point = TWINS["Point"](g, rng.choice([1.0, -1e16]), y, g)
        sizes = TWINS["Sizes"](0.5, g, g)
        state = TWINS["State"](point, nothing, y, y, 1.0, 2.0, sizes, 1, stalled=int(rng.choice([0, 12])))
        iterate = TWINS["Iterate"](point, y, g, measure, 0.0, 0.0, sizes, 1)
        step = TWINS["Step"](g, y, g, np.array([True]), True)
        local = TWINS["Local"](np.ones((1, 2)), y, y, 1.0, 1.0)
        verdicts.append(both("reason", iterate, state, tolerances, local, step))
        assert all(compiled == plain for compiled, plain in verdicts)
        seen.update((i, plain) for i, (_, plain) in enumerate(verdicts))
    assert len(seen) == 4 * 2 + 5  # every answer was given


@built
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("nu", [np.inf, 2.0])
def test_the_subproblem(seed, nu):
    rng = np.random.default_rng(seed)
    n, m = 5, 6
    M, a = rng.normal(size=(n, n)), rng.normal(size=(m, n))
    a /= np.linalg.norm(a, axis=1)[:, None]
    equality = np.arange(m) < 1
    low = np.concatenate([np.where(equality, -nu, 0.0), np.full(n, -1.0)])
    high = np.concatenate([np.full(m, nu), np.full(n, 1.0)])
    g, b = 3.0 * rng.normal(size=n), rng.normal(size=m)
    qp = TWINS["QP"](g, M @ M.T + 0.1 * np.eye(n), a, b, low, high)
    states = rng.integers(-1, 2, m + n).astype(np.int8)
    states[:m] = np.where(equality, 0, np.minimum(states[:m], 0))
    # a factorization and its condition number stand between the two
    guessed = agree("guessed", qp, states, 12, 1e-10, 1e-8, 1e-9, rtol=1e-8, atol=1e-9)
    if nu < np.inf:  # the path ends within 1e-11 of the solution, on one of many ways
        agree("followed", qp, np.inf, PATH, rtol=1e-6, atol=1e-7)
    else:
        agree("dual_solved", qp, DUAL, rtol=1e-9, atol=1e-10)
        spoilt = TWINS["QP"](g, -qp.B, a, b, low, high)
        assert agree("dual_solved", spoilt, DUAL) is None
    agree("hard_rows", equality, n)
    agree("boxes", low[:m], high[:m], low[m:], high[m:])
    solution = TWINS["QPSolution"](g, b, low[m:], states)
    stepped, reference = both("stepped", solution, equality, True)
    same_entries("Step", stepped, reference)
    if guessed is not None:
        compiled, plain = both("guessed_step", qp, states, equality, 12, 1e-10, 1e-8, 1e-9)
        same_entries("Step", compiled[0], plain[0], 1e-8)
        np.testing.assert_array_equal(compiled[1], plain[1])


@built
@pytest.mark.parametrize("seed", range(300))
def test_the_dual_active_set_where_rows_are_degenerate(seed):
    qp = draw(seed)
    compiled, plain = both("dual_solved", qp, DUAL)
    assert (compiled is None) == (plain is None)
    if plain is not None:
        assert compiled[0] == plain[0]
        # Of dependent rows either may be the active one; the step is unique, up to the condition of B.
        size = max(1.0, np.abs(plain[1]).max())
        if plain[0]:
            np.testing.assert_allclose(compiled[1], plain[1], rtol=1e-8, atol=1e-9 * size)


@built
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("n", "m", "k"), [(1, 0, 1), (3, 2, 2), (6, 4, 9), (120, 0, 5), (120, 2, 5)])
@pytest.mark.parametrize("convex", [True, False])
def test_the_curvature(n, m, k, convex, seed):
    rng = np.random.default_rng(seed)
    S, J = rng.normal(size=(k + 2, n)), 0.1 * rng.normal(size=(k + 2, m, n))
    M = rng.normal(size=(n, n))
    H = M @ M.T + np.eye(n) if convex else M + M.T
    G = S @ H
    y, A = rng.normal(size=m) * (rng.random(m) < 0.7), rng.normal(size=(m, n))
    corner = rng.random(m) < 0.5
    B, _ = agree("secant_matrix", S, G, J, k, y, A, corner, 1.0, SECANT, rtol=1e-6, atol=1e-6)
    agree("is_definite", B, 0.0)
    pairs = S[:k] / np.sqrt(k), G[:k]
    g, free, states = rng.normal(size=n), np.full(n, np.inf), np.zeros(n, dtype=np.int8)
    for bounds in ((-free, free), (-free, np.full(n, 1e-3)), (np.full(n, np.nan), free)):
        for held in (states, states + np.int8(1)):
            agree("limited_step", 0.7, *pairs, g, *bounds, held, rtol=1e-8, atol=1e-8)
    for sign in (1.0, -1.0):
        change = sign * (g + np.abs(rng.normal(size=n)))
        agree("normalized_pair", 0.0 * change, change, -change, sign * change, *np.empty((2, n)), 1e-8)
    old, new = (TWINS["Point"](x, 0.0, y, x @ H, A + J[0]) for x in rng.normal(size=(2, n)))
    rest = y, corner, 1.0, SECANT
    agree("moved_matrix", S[:k], G[:k], J[:k], k - 1, old, new, *rest, rtol=1e-6, atol=1e-6)


@built
@pytest.mark.parametrize("bad", [1.0, np.nan, -np.inf])
def test_what_functions_answer(bad):
    x = np.array([1.0, 2.0])
    values = [lambda x: np.float64(x[0]), lambda x: np.array([x[1], bad]), lambda x: x]

    def read(index, returned, *more):
        return np.atleast_1d(np.array(returned, dtype=float))

    for functions in (
        values,
        [lambda x: 1, *values[1:]],
        [*values[:2], lambda x: [3, 4]],
        values[:2],
        values[:1],
    ):
        compiled, plain = both("answered", functions, x, read)
        assert compiled[0] == plain[0] and compiled[2:] == plain[2:]
        np.testing.assert_array_equal(compiled[1], plain[1])
    slopes = [lambda x: x, lambda x: np.full((2, 2), bad), lambda x: np.eye(2)]
    for functions in (slopes, [lambda x: [1, 2], *slopes[1:]], slopes[:2], slopes[:1]):
        found = both("answered_derivatives", functions, x, [2, 2][: len(functions) - 1], read)
        for mine, reference in zip(*found, strict=True):
            np.testing.assert_array_equal(mine, reference)
    sparse = [*slopes[:2], lambda x: scipy.sparse.eye_array(2)]
    found = both("answered_derivatives", sparse, x, [2, 2], lambda index, returned, *more: returned)
    assert all(isinstance(parts, list) for parts in found)


@built
@pytest.mark.parametrize("seed", range(20))
def test_what_is_done_once(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 5, rng.integers(0, 4)).tolist()
    limits = np.array([-np.inf, 0.0, 1.0, np.inf])
    blocks = [SimpleNamespace(lower=np.zeros(()), upper=np.array([[0.0], [np.inf]][seed % 2])) for _ in sizes]
    for block, size in zip(blocks, sizes, strict=True):
        if rng.random() < 0.7:
            block.lower, block.upper = limits[np.sort(rng.integers(0, 4, (2, size)), axis=0)]
    compiled, plain = both("compared", blocks, sizes)
    for one, other in zip(compiled, plain, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    source, target, sign, _, _ = plain
    agree("user_view", rng.normal(size=sum(sizes)), rng.normal(size=target.size), source, target, sign)
    low, high = np.sort(rng.normal(size=(2, 4)), axis=0)
    assert agree("usual_limits", low, high, 4) is not None
    for unusual in (high + 1.0, low * np.nan, low.tolist(), low.astype("f4"), low[:3]):
        assert agree("usual_limits", unusual, high, 4) is None
    assert agree("usual_limits", low, high, None) is None
    agree("inside", rng.normal(size=4), limits[[0, 1, 0, 1]], limits[[2, 1, 3, 3]])


@built
def test_what_is_not_finite():
    for bad in (np.nan, np.inf):
        vector = np.array([1.0, bad, -2.0])
        for name in ("largest", "all_finite", "squares_finite", "finite_or_infinite"):
            agree(name, vector)
        agree("finite_parts", [vector])
        agree("ordered", np.zeros(3), vector)
    agree("finite_parts", [np.ones(2), np.ones(2, dtype=complex)])


SENSITIVE = {
    "no constraint qualification",  # multipliers grow without limit, and rounding with them
    "exp(60) at the start",  # a gradient of 1e26, whose rounding is larger than all that follows
}

SOLVES = """
import json
from known_problems import AWKWARD, CLASSICS
from softpenalty import core, minimize
rows = []
for problem in [*CLASSICS, *AWKWARD]:
    try:
        result = minimize(**problem.arguments)
    except Exception as error:
        rows.append([problem.name, repr(error)])
        continue
    rows.append([problem.name, result.status, result.nit, result.nfev, result.history.column("fun").tolist(),
        result.x.tolist()])
print(json.dumps([core.config()["core"], rows]))
"""


@built
def test_both_walk_the_same_way():
    found = {}
    for kind in ("python", "compiled"):
        environment = {**os.environ, "SOFTPENALTY_CORE": kind, "PYTHONWARNINGS": "ignore"}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        run = subprocess.run([sys.executable, "-c", SOLVES], capture_output=True, text=True, env=environment)
        assert run.returncode == 0, run.stderr
        used, found[kind] = json.loads(run.stdout)
        assert used == kind
    assert len(found["python"]) > 15
    for plain, compiled in zip(found["python"], found["compiled"], strict=True):
        if len(plain) == 2:
            assert plain == compiled
            continue
        name, status, iterations, evaluations, objectives, x = plain
        if name in SENSITIVE:
            assert compiled[1] == status
            continue
        assert compiled[:4] == [name, status, iterations, evaluations], name
        # Rounding of the first iterations grows by the condition of those after them.
        np.testing.assert_allclose(compiled[4], objectives, rtol=1e-6, atol=1e-8, err_msg=name)
        np.testing.assert_allclose(compiled[5], x, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("value", ["fortran", "Python"])
def test_the_switch_knows_two_words(value):
    code = "import softpenalty.solve.minimize"
    environment = {**os.environ, "SOFTPENALTY_CORE": value}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert run.returncode != 0
    assert "SOFTPENALTY_CORE" in run.stderr and repr(value) in run.stderr


def test_show_config_says_which_and_why(capsys, monkeypatch):
    softpenalty.show_config()
    assert core.config()["because"] in capsys.readouterr().out
    code = "import softpenalty; softpenalty.show_config()"
    environment = {**os.environ, "SOFTPENALTY_CORE": "python"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert "Python and NumPy, because SOFTPENALTY_CORE=python" in run.stdout
