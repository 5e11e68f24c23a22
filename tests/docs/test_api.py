"""Every public name is in the reference and has an example that the doctests run."""

from __future__ import annotations

import importlib
import re

import pytest

import softpenalty
from doc_pages import ROOT, blocks

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
LISTED = [
    line.strip().lstrip("~")
    for block in blocks(PAGE)
    if block.language == "{eval-rst}"
    for line in block.text.splitlines()
    if re.fullmatch(r"   ~?[\w.]+", line)
]
DICTS = {"COMBINATIONS", "KERNELS", "OPERATORS"}  # their examples are on the page itself


def test_all_public_names_are_listed() -> None:
    assert set(softpenalty.__all__) - {"__version__"} - DICTS <= set(LISTED)
    for name in DICTS:
        assert f"from softpenalty import {name}\n" in PAGE


@pytest.mark.parametrize("module", ["torch", "jax", "cooper"])
def test_all_of_training_is_listed(module: str) -> None:
    pytest.importorskip(module)
    public = importlib.import_module(f"softpenalty.training.{module}").__all__
    assert {f"training.{module}.{name}" for name in public} <= set(LISTED)


@pytest.mark.parametrize("name", LISTED)
def test_there_is_an_example(name: str) -> None:
    path, _, attribute = f"softpenalty.{name}".rpartition(".")
    if "training" in path:
        pytest.importorskip(path.rpartition(".")[2])
    documented = getattr(importlib.import_module(path), attribute).__doc__
    assert "Examples\n" in documented and ">>> " in documented
