"""What docs/reports.md shows is what the library says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")


def test_the_report_of_a_design_is_the_one_shown(run_gallery: Callable[[str], dict[str, Any]]) -> None:
    report = run_gallery("welded_beam")["result"].report()
    shown = [line for line in report.splitlines() if line.startswith(("Converged", "active", "weld", "Next"))]
    assert len(shown) == 7
    for line in shown:
        state, _, name = line.partition("  ")
        assert f"{state}  {name.split('  ')[0]}".strip() in PAGE


def test_the_report_of_a_penalty_is_the_one_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(code, "reports.md", "exec"), {"__name__": "docs"})
    verdict = capsys.readouterr().out.splitlines()[-1]
    assert "sigma" in verdict and verdict in PAGE
