"""The report as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from .content import HEAD, WORTH, Report, read

__all__ = ["explain"]

WIDTH = 88  # of a line, unless the table needs more
GAP = "  "
LONGEST, KEPT = 36, 12  # characters of a name, and of its end (where the index stands) if it is longer
HARD = "\N{NO-BREAK SPACE}"


def explain(result: Mapping[str, Any]) -> str:
    """The report of a result with the fields of `Result`."""
    report = read(result)
    facts = [f"{name} {value}".replace(" ", HARD) for name, value in report.facts]
    blocks = [
        _wrapped(report.message),
        [line.replace(HARD, " ") for line in textwrap.wrap(", ".join(facts), WIDTH)],
        _grid(report.variables),
        _table(report),
        [line for note in report.notes for line in _wrapped(note)],
        _wrapped(f"Next: {report.advice}") if report.advice else [],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _grid(pairs: list[tuple[str, str]]) -> list[str]:
    """Names and values in as many columns as fit."""
    if not pairs:
        return []
    cells = [f"{name} = {value}" for name, value in pairs]
    width = max(map(len, cells)) + 3
    count = max(1, WIDTH // width)
    return [
        "".join(cell.ljust(width) for cell in cells[i : i + count]).rstrip()
        for i in range(0, len(cells), count)
    ]


def _table(report: Report) -> list[str]:
    if not report.rows:
        return []
    rows = [row._replace(name=_cut(row.name)) for row in report.rows]
    columns = list(zip(HEAD, *rows, strict=True))[: report.columns]
    widths = [max(map(len, column)) for column in columns]
    left = (0, 1)  # the others are numbers
    lines = [
        GAP.join(
            cell.ljust(w) if i in left else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(cells, widths, strict=True))
        )
        for cells in zip(*columns, strict=True)
    ]
    if report.columns == len(HEAD):
        lines.insert(0, WORTH.rjust(len(lines[0])))
    return [line.rstrip() for line in lines]


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - KEPT - 1]}…{name[-KEPT:]}"
