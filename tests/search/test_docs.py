"""The Python of docs/search.md runs as written and does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "search.md"
BLOCK = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)[0]


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    names: dict[str, object] = {"__name__": "docs"}
    exec(compile(BLOCK, "docs/search.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "-106.7645" in printed.splitlines()[0]
    result = names["result"]
    assert len(result.minima) == 5  # as the comment says
    matplotlib.pyplot.close("all")
