"""The plant does what docs/simulation.md shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scipy.optimize import Bounds

from softpenalty import minimize

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
PRINTED = [block for language, block in FENCED if not language]


# The page's own Python is run by tests/docs/test_pages.py.


def test_the_plant_says_what_the_page_shows(run_gallery, capsys):
    """Numbers may differ in the last digits shown from one machine to the next; words may not."""
    run_gallery("plant")
    printed = capsys.readouterr().out
    shown = next(part for part in PRINTED if "objective changes if the target rises" in part)
    assert _words(printed) == _words(shown)
    table, ours = (
        [line.split()[-1] for line in text.splitlines() if line.startswith(("profit", "product"))]
        for text in (shown, printed)
    )
    assert [float(v) for v in ours] == pytest.approx([float(v) for v in table], abs=2e-3)


def test_the_plant_goes_on_from_a_checkpoint(run_gallery, tmp_path, capsys):
    plant = run_gallery("plant")

    def solve():
        return minimize(
            lambda x: -plant["plant"]["profit"](x),
            plant["start"],
            bounds=Bounds(plant["lower"], plant["upper"]),
            constraints=plant["constraints"],
            checkpoint=tmp_path / "run.jsonl",
            resume=True,
            progress=True,
        )

    first, calls = solve(), plant["plant"].calls
    assert "purity" in capsys.readouterr().err
    assert solve().x.tolist() == first.x.tolist()
    assert plant["plant"].calls == calls  # all from the file


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


def test_the_plant_fails_outside_its_domain(run_gallery):
    plant = run_gallery("plant")
    x = plant["start"].copy()
    x[2] = plant["upper"][2]
    with pytest.raises(plant["NotConvergedError"], match="runs away"):
        plant["simulate"](x)
