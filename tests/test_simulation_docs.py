"""The plant does what docs/simulation.md shows."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
PRINTED = [block for language, block in FENCED if not language]


# The page's own Python is run by tests/docs/test_pages.py.


def test_the_plant_says_what_the_page_shows(tmp_path):
    """Numbers may differ in the last digits shown from one machine to the next; words may not."""
    command = [sys.executable, str(ROOT / "examples" / "plant.py"), "--progress", "--checkpoint", "run.jsonl"]
    runs = [
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True) for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout  # the second one from the checkpoint alone
    assert "purity" in runs[0].stderr or "feasible" in runs[0].stderr
    shown = next(part for part in PRINTED if "objective changes if the target rises" in part)
    assert _words(runs[0].stdout) == _words(shown)
    table = [line.split()[-1] for line in shown.splitlines() if line.startswith(("profit", "product"))]
    ours = [
        line.split()[-1] for line in runs[0].stdout.splitlines() if line.startswith(("profit", "product"))
    ]
    assert [float(v) for v in ours] == pytest.approx([float(v) for v in table], abs=2e-3)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


def test_the_plant_fails_outside_its_domain():
    plant = runpy.run_path(str(ROOT / "examples" / "plant.py"))
    x = plant["start"].copy()
    x[2] = plant["upper"][2]
    with pytest.raises(plant["NotConvergedError"], match="runs away"):
        plant["simulate"](x)


def test_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    plant = runpy.run_path(str(ROOT / "examples" / "plant.py"))
    result = plant["optimize"]()
    plant["draw"](result, [plant["start"], result.x], str(tmp_path / "plant.png"))
    assert (tmp_path / "plant.png").stat().st_size > 10_000
