"""Every example runs, and says what it promises."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_designs_find_the_textbook_answer(capsys: pytest.CaptureFixture[str]) -> None:
    designs = runpy.run_path(str(EXAMPLES[0].parent / "design.py"))["DESIGNS"]
    assert len(designs) == 5
    for design in designs:
        result = design.solve()
        assert result.success
        assert result.fun == pytest.approx(design.textbook, rel=1e-5)  # its digits
        text = result.report()
        assert all(name in text for name in design.variables)
        assert all(constraint.name in text for constraint in design.constraints)
        assert len(text.splitlines()) <= 40


def test_predictions_come_true(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES[0].parent / "predict_the_error.py"), run_name="__main__")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert len(rows) == 9
    for _, _, predicted, measured in rows:
        assert float(measured) == pytest.approx(
            float(predicted), abs=1e-6
        )  # BFGS stops at a gradient of 1e-10
