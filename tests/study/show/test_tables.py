"""The large table in its three formats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from softpenalty.study.judge.facts import Facts
from softpenalty.study.show import tables
from study.synthetic import read_facts


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    return read_facts(tmp_path_factory.mktemp("complete"))


def test_markdown_has_every_figure(complete: Facts) -> None:
    text = tables.markdown(complete.entries)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 32
    assert len({row.count("|") for row in rows}) == 1
    assert sum(row.count("✓") for row in rows) == 128
    assert "4277" in text
    assert "3.69e-3" in text


def test_latex_is_balanced_and_plain(complete: Facts) -> None:
    text = tables.latex(complete.entries)
    assert text.isascii()
    assert text.count("{") == text.count("}")
    assert text.count("$") % 2 == 0
    opened_environments = re.findall(r"\\begin\{(.*?)\}", text)
    assert opened_environments == re.findall(r"\\end\{(.*?)\}", text)[::-1]
    columns = len(re.search(r"begin\{tabular\}\{(.*?)\}", text)[1].replace("|", ""))  # type: ignore[index]
    body = [line for line in text.splitlines() if " & " in line and "multicolumn" not in line]
    assert {line.count("&") + 1 for line in body} == {columns}
    assert len(body) == 1 + 32


def test_marks_tell_what_is_outside_and_what_is_missing(tmp_path: Path) -> None:
    def change(experiment: str, kind: str, n: int, name: str, quantity: str) -> float:
        return 2.0 if (experiment, n, name, quantity) == ("planes", 8, "algebraic sum", "error") else 1.0

    facts = read_facts(tmp_path, 20, change=change, skip=lambda e, n, name: (e, n) == ("spheres", 2))
    entries = facts.entries
    assert tables.markdown(entries).count(" ✗ |") == 1
    assert tables.latex(entries).count("dagger") == 1 + 1  # the cell and the caption
    html = tables.html(entries)
    assert html.count('class="outside"') == 1
    assert html.count('class="missing"') == 8
    assert html.count("<td") == 128
