"""Whatever the public functions are given, they answer or raise TypeError or ValueError, at once and quietly.

As a program it tries as many bad inputs as wanted and prints each kind of failure once::

    PYTHONPATH=src:tests python tests/test_bad_inputs.py [--size 10000]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeWarning

import softpenalty

SIZE, SAMPLE = 10_000, 600  # of all calls together
TOO_LONG = 1.0  # seconds of computing


class Strange:
    """An object that is none of anything."""


class Raises:
    """An object that cannot be made a number."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ValueError("no array")

    def __float__(self) -> float:
        raise OverflowError("no number")

    def __bool__(self) -> bool:
        raise ValueError("neither true nor false")


def objective(x: Any) -> Any:
    return float(np.sum(np.asarray(x) ** 2))


def value(x: Any) -> Any:
    return x[0] + x[1]


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, -(10**400), 2**63, 1 << 70]),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1e-320, 1e308, -1e308, float("inf"), float("nan")]),
    st.complex_numbers(),
    st.text("abc<>=-2 \0\né", max_size=4),
    st.sampled_from(
        ["<", "=", "softplus", "linear", "norm", "2-point", "cs", "sqp", "raise", "eq", "a" * 3000]
    ),
    st.binary(max_size=3),
    st.builds(Strange),
    st.builds(Raises),
    st.sampled_from([Strange, int, ..., NotImplemented, range(2), slice(1), {1, 2}, frozenset()]),
)
dtypes = ["f8", "f4", "f2", "i8", "u1", "?", "c16", "O", "U2", "M8[s]", "f8,f8", "S1"]
arrays = st.one_of(
    st.builds(
        lambda shape, dtype: np.zeros(shape, dtype),
        st.sampled_from([(), (0,), (1,), (2,), (3,), (2, 2), (0, 2), (2, 0), (1, 2), (2, 1, 1)]),
        st.sampled_from(dtypes),
    ),
    st.lists(st.floats(), max_size=3).map(np.array),
    st.sampled_from([[1e308, -1e308], [1e-320, 1.0], [np.nan, 1.0], [2.0, np.inf]]).map(np.array),
    st.builds(lambda: np.ma.masked_array([1.0, 2.0], [True, False])),
    st.builds(lambda: sparse.csr_array(np.eye(2))),
)
nested = st.recursive(
    st.one_of(plain, arrays),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.sampled_from(["type", "fun", "jac", "maxiter", "a"]), inner, max_size=2),
    ),
    max_leaves=4,
)
functions = st.one_of(
    nested.map(lambda result: lambda x, *more: result),
    st.sampled_from([objective, value, abs, len, np.asarray, np.sum, int, lambda: 0.0, lambda x: 1 / 0]),
    st.sampled_from([0.0, np.nan, np.inf, 1e308, -1e308, 1e-320]).map(lambda y: lambda x: y * np.ones(2)),
    st.sampled_from([1e308, 1e-300, np.nan]).map(lambda y: lambda x: y * x[0]),
)
constraint_like = st.one_of(
    st.builds(
        lambda fun, kind, more: {"type": kind, "fun": fun, **more},
        functions,
        st.sampled_from(["eq", "ineq"]),
        st.dictionaries(st.sampled_from(["jac", "args", "hess"]), st.one_of(functions, nested), max_size=2),
    ),
    st.builds(lambda *a: _or_none(LinearConstraint, *a), nested, nested, nested),
    st.builds(lambda *a: _or_none(NonlinearConstraint, *a), functions, nested, nested),
    st.builds(lambda *a: _or_none(Bounds, *a), nested, nested),
    st.builds(lambda *a: _or_none(softpenalty.Constraint, *a), functions, st.sampled_from("<=>"), nested),
)
junk = st.one_of(nested, functions, constraint_like, st.lists(constraint_like, max_size=2))


def _or_none(kind: Callable[..., Any], *arguments: Any) -> Any:
    """An object made of junk, None where its own class refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind(*arguments)
    except Exception:
        return None


def _penalty(x: Any = (1.0, 2.0), **arguments: Any) -> None:
    penalty = softpenalty.penalize(**arguments)
    for ask in (penalty, penalty.gradient, penalty.report, penalty.violations):
        ask(x)


def _replaced(**parameters: Any) -> None:
    penalty = softpenalty.penalize(objective, softpenalty.Constraint(value, ">", 1.0), sigma=1.0, alpha=0.1)
    penalty([1.0, 2.0])
    penalty.replace(**parameters)([1.0, 2.0])


def _shared(simulate: Any, x: Any, part: Any) -> None:
    softpenalty.shared(simulate)[part](x)


# What is called, with arguments that are right; each of them may be replaced.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "minimize": (
        softpenalty.minimize,
        {
            "fun": objective, "x0": [1.0, 2.0], "args": (), "jac": None, "hess": None, "method": "sqp",
            "bounds": None, "constraints": softpenalty.Constraint(value, ">", 1.0), "tol": None,
            "callback": None, "options": None, "maxiter": 20,
        },
    ),
    "minimize: options": (
        softpenalty.minimize,
        {
            "fun": objective, "x0": [1.0, 2.0], "constraints": softpenalty.Constraint(value, ">", 1.0),
            "method": "penalty", "maxiter": 20, "maxfev": 200, "max_time": 5.0, "constraint_tol": 1e-3,
            "disp": False, "on_failure": "backtrack", "evaluation_timeout": np.inf, "workers": 1,
            "resume": False, "progress": False, "check_gradients": False, "kernel": None,
            "combination": "sum", "sigma": None, "alpha": None, "hessp": None, "checkpoint": None,
        },
    ),
    "Constraint": (
        softpenalty.Constraint,
        {
            "fun": value, "operator": "<", "target": 0.0, "jac": None, "name": "a", "sigma": 1.0,
            "alpha": 1.0, "hess": None,
        },
    ),
    "penalize": (
        _penalty,
        {
            "fun": objective, "constraints": softpenalty.Constraint(value, ">", 1.0), "sigma": 1.0,
            "alpha": 0.1, "kernel": "softplus", "combination": "sum", "bounds": None, "jac": None,
            "add_quadratic": 0.0, "args": (), "vectorized": False, "x": [1.0, 2.0],
        },
    ),
    "Penalty.replace": (_replaced, {"sigma": 1.0, "alpha": 1.0, "shift": 0.0}),
    "recommend": (
        softpenalty.recommend,
        {"gradient": 1.0, "tolerance": 1e-3, "operator": "<", "kernel": "softplus", "factor": 1.5},
    ),
    "predicted_error": (
        softpenalty.predicted_error,
        {"gradient": 1.0, "sigma": 2.0, "alpha": 0.1, "operator": "<", "kernel": "softplus"},
    ),
    "penalty_function": (
        softpenalty.penalty_function,
        {
            "error": 1.0, "alpha": 0.1, "operator": "<", "kernel": "softplus", "beta_minus": None,
            "beta_plus": None,
        },
    ),
    "penalty_slope": (
        softpenalty.penalty_slope,
        {
            "error": 1.0, "alpha": 0.1, "operator": "<", "kernel": "softplus", "beta_minus": None,
            "beta_plus": None,
        },
    ),
    "shared": (_shared, {"simulate": lambda x: {"a": x}, "x": [1.0], "part": "a"}),
}  # fmt: skip


def attempt(call: str, replaced: dict[str, Any]) -> str | None:
    """What goes wrong with one input, None where nothing does."""
    function, arguments = CALLS[call]
    begun = time.process_time()
    silent = io.StringIO()
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(silent),
            contextlib.redirect_stderr(silent),
        ):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", OptimizeWarning)
            function(**{**arguments, **replaced})
    except (TypeError, ValueError):
        pass  # documented
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        if where.filename == __file__:
            return None  # what the user's own function raised passes through
        return f"{type(error).__name__}: {error} ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})"
    seconds = time.process_time() - begun
    return f"took {seconds:.1f} s" if seconds > TOO_LONG else None


def cases(call: str) -> st.SearchStrategy[dict[str, Any]]:
    """One to three arguments replaced by junk."""
    names = st.sampled_from(sorted(CALLS[call][1]))
    return st.dictionaries(names, junk, min_size=1, max_size=3)


def examples(size: int, call: str, try_it: Callable[[dict[str, Any]], None]) -> None:
    """Try so many inputs of one call."""
    chosen = settings(
        max_examples=size,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    chosen(given(cases(call))(try_it))()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A string may become the name of a checkpoint."""
    monkeypatch.chdir(tmp_path)


def check(size: int, call: str) -> None:
    def try_it(replaced: dict[str, Any]) -> None:
        wrong = attempt(call, replaced)
        assert wrong is None, f"{call}({replaced}): {wrong}"

    examples(size // len(CALLS), call, try_it)


@pytest.mark.parametrize("call", CALLS)
def test_sample(call):
    check(SAMPLE, call)


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_many(call):
    check(SIZE, call)


def main() -> None:
    """Print each kind of failure once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--call", choices=list(CALLS), nargs="*", default=list(CALLS))
    options = parser.parse_args()
    tried: list[int] = []
    found: dict[tuple[str, str], str] = {}

    def note(call: str) -> Callable[[dict[str, Any]], None]:
        def try_it(replaced: dict[str, Any]) -> None:
            tried.append(1)
            wrong = attempt(call, replaced)
            if wrong is not None:
                found.setdefault((call, wrong.rpartition("(")[2]), f"{replaced!r}\n    {wrong}"[:900])

        return try_it

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for call in options.call:
            examples(options.size // len(CALLS), call, note(call))
    print(f"{len(tried)} inputs, {len(found)} kinds of failure")
    for (call, _), example in found.items():
        print(f"{call}: {example}")


if __name__ == "__main__":
    main()
