"""Importing the package must cost next to nothing: heavy libraries are imported where they are used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"scipy", "torch", "jax", "matplotlib", "array_api_compat", "numba", "mpmath"}


def modules_after(statement: str) -> set[str]:
    code = f"import sys, json; {statement}; print(json.dumps([m.partition('.')[0] for m in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import softpenalty",
        "import softpenalty; softpenalty.KERNELS['softplus'].evaluate(1.0, 0.1)",
        "import softpenalty; softpenalty.COMBINATIONS; softpenalty.recommend(1.0, 0.1)",
        "import softpenalty, numpy; softpenalty.penalty_function(numpy.ones(10), 0.1, '=')",
    ],
)
def test_formulas_need_numpy_only(statement):
    loaded = modules_after(statement)
    assert "softpenalty" in loaded
    assert not loaded & HEAVY


def test_the_import_alone_does_not_even_need_numpy():
    assert "numpy" not in modules_after("import softpenalty")


def test_the_check_sees_what_is_loaded():
    assert "scipy" in modules_after("import scipy.optimize")
