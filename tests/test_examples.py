"""Every example runs, and says or draws what it promises."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))
RunGallery = Callable[[str], dict[str, Any]]


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_there_is_a_gallery() -> None:
    assert len(GALLERY) >= 12


@pytest.mark.parametrize("name", [path.stem for path in GALLERY])
def test_gallery_script_draws(name: str, run_gallery: RunGallery, capsys: pytest.CaptureFixture[str]) -> None:
    """It checks its own answer (by `assert`), prints, and draws figures with something on them."""
    run_gallery(name)
    assert capsys.readouterr().out.strip()
    from matplotlib import pyplot

    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert figures
    for figure in figures:
        figure.canvas.draw()  # warns of glyphs that are missing and of layouts that fail
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        assert (pixels != 255).any(axis=2).mean() > 0.01  # of the paper is covered
        for axes in figure.axes:
            assert axes.get_title(loc="left") or axes.get_ylabel()


@pytest.mark.parametrize("path", GALLERY, ids=[path.stem for path in GALLERY])
def test_gallery_script_is_a_page(path: Path) -> None:
    """A title, text between the blocks, an answer that is checked: what sphinx-gallery and readers expect."""
    text = path.read_text(encoding="utf-8")
    assert re.match(r'"""\n(.+)\n(=+)\n\n', text)
    title, underline = text.splitlines()[1:3]
    assert len(title) == len(underline)
    assert text.count("\n# %%\n# ") >= 1
    assert re.search(r"^ *assert ", text, flags=re.MULTILINE)
    assert text.count("plt.show()") >= 1


def test_designs_find_the_textbook_answer(capsys: pytest.CaptureFixture[str]) -> None:
    designs = runpy.run_path(str(ROOT / "examples" / "design.py"))["DESIGNS"]
    assert len(designs) == 4
    for design in designs:
        result = design.solve()
        assert result.success
        assert result.fun == pytest.approx(design.textbook, rel=1e-5)  # its digits
        text = result.report()
        assert all(name in text for name in design.variables)
        assert all(constraint.name in text for constraint in design.constraints)
        assert len(text.splitlines()) <= 40


def test_predictions_come_true(run_gallery: RunGallery, capsys: pytest.CaptureFixture[str]) -> None:
    run_gallery("predict_the_error")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:-1]]
    assert len(rows) == 12
    for _, _, predicted, measured in rows:
        assert float(measured) == pytest.approx(
            float(predicted), abs=1e-6
        )  # BFGS stops at a gradient of 1e-10
