"""The Python of docs/training.md runs as written and does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "training.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_pytorch_loop(capsys):
    pytest.importorskip("torch")
    exec(compile(BLOCKS[0], "docs/training.md", "exec"), {"__name__": "docs"})
    norm, multiplier, violation = map(float, capsys.readouterr().out.split())
    assert norm == pytest.approx(2.0, abs=0.02)  # batches of 64 and a constant rate of 0.02
    assert multiplier > 0.0
    assert violation < 0.02


def test_optax_loop(capsys):
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    exec(compile(BLOCKS[1], "docs/training.md", "exec"), {"__name__": "docs"})
    norm, multiplier = map(float, capsys.readouterr().out.replace("[", "").replace("]", "").split())
    assert norm == pytest.approx(2.0, abs=1e-2)
    assert multiplier > 0.0


def test_there_are_no_other_blocks():
    assert len(BLOCKS) == 2
