"""What is shown while a solve goes on."""

from __future__ import annotations

import io

import numpy as np
import pytest

from softpenalty import Constraint, minimize
from softpenalty.problem.evaluation import Evaluation
from softpenalty.solve import progress
from softpenalty.solve.methods import METHODS
from softpenalty.solve.progress import Progress


def solve(**more):
    row = Constraint(lambda x: x @ x, "<", 1.0, name="disc")
    return minimize(lambda x: float((x - 3.0) @ (x - 3.0)), [4.0, 0.0], constraints=row, **more)


@pytest.mark.parametrize("method", METHODS)
def test_plain_lines_where_there_is_no_terminal(capsys, monkeypatch, method):
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    result = solve(progress=True, method=method)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert len(lines) == sum("stationarity" in row for row in result.history[: len(lines)]) > 2
    assert "evaluations" in lines[0] and lines[0].startswith("iteration ")
    assert any("disc < 1 violated by " in line for line in lines)


def test_a_log_is_not_flooded_but_the_last_line_is_there(capsys):
    solve(progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[-1].startswith("iteration ") and not lines[-1].startswith("iteration 0")


def test_nothing_is_shown_unless_asked_for(capsys):
    solve()
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def row(iteration, violation):
    return {"nit": iteration, "fun": 1.5, "maxcv": violation, "stationarity": 1e-3}


def test_one_live_line_on_a_terminal():
    pytest.importorskip("rich")
    stream = Terminal()
    evaluation = Evaluation("minimize", lambda x: 1.0, [])
    with Progress(evaluation, stream) as shown:
        shown(np.zeros(1), row(3, 0.5))
        shown(np.zeros(1), row(4, 0.0))
    text = stream.getvalue()
    assert "iteration 4 · objective 1.5 · feasible · stationarity 1.0e-03" in text
    assert text.count("\n") <= 2


def test_without_rich_the_lines_are_plain(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rich.live", None)
    stream = Terminal()
    with Progress(Evaluation("minimize", lambda x: 1.0, []), stream) as shown:
        shown(np.zeros(1), row(0, 0.5))
    assert stream.getvalue().startswith("iteration 0 · objective 1.5 · violation 5.0e-01")
