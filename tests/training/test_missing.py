"""Without PyTorch, JAX or Cooper: an error that names the extra, and a package that works."""

from __future__ import annotations

import subprocess
import sys

import pytest

HIDE = """
import sys
for name in ("torch", "jax", "cooper"):
    sys.modules[name] = None
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", HIDE + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_the_error_names_the_extra(library):
    run(f"""
try:
    from softpenalty.training import {library}
except ImportError as error:
    assert "pip install 'softpenalty[{library}]'" in str(error), error
else:
    raise AssertionError("imported")
""")


def test_the_error_of_the_adapter_names_its_extra():
    pytest.importorskip("torch")
    code = """
import sys
sys.modules["cooper"] = None
try:
    from softpenalty.training import cooper
except ImportError as error:
    assert "pip install 'softpenalty[cooper]'" in str(error), error
else:
    raise AssertionError("imported")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_rest_of_the_package_does_without():
    run("""
import pkgutil
import importlib
import softpenalty
import softpenalty.training
from softpenalty import Constraint, minimize

result = minimize(lambda x: x[0] + x[1], [9.0, 9.0], constraints=Constraint(lambda x: x[0] * x[1], ">", 25.0))
assert result.success
""")


def test_nothing_else_imports_them():
    code = """
import sys, pkgutil, importlib, softpenalty
for module in pkgutil.walk_packages(softpenalty.__path__, "softpenalty."):
    if module.name not in {f"softpenalty.training.{n}" for n in ("torch", "jax", "cooper")}:
        importlib.import_module(module.name)
assert not {"torch", "jax", "cooper"} & sys.modules.keys()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
