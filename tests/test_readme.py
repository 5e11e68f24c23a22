"""The README's Python runs as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_block_runs(code: str) -> None:
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})


def test_first_block_is_short_and_finds_the_fence(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(BLOCKS[0].strip().splitlines()) <= 10
    exec(compile(BLOCKS[0], "README.md", "exec"), {"__name__": "readme"})
    sides = [float(word) for word in capsys.readouterr().out.split("]")[0].strip("[ ").split()]
    assert sides == pytest.approx([6.25, 4.0], abs=1e-6)


def test_both_commands_are_named() -> None:
    text = README.read_text(encoding="utf-8")
    assert "make test" in text
    assert "make study" in text
