"""The report as HTML for a notebook, light or dark: it takes the colours of the page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from .content import ACTIVE, HEAD, VIOLATED, WORTH, Report, read

__all__ = ["as_html"]

STYLE = """
.softpenalty { font-size: 0.95em; line-height: 1.45; max-width: 66em; }
.softpenalty p { margin: 0.5em 0; }
.softpenalty b.good { color: #1a9560; } .softpenalty b.bad { color: #e0533d; }
.softpenalty span { white-space: nowrap; margin-right: 1.4em; }
.softpenalty span i { opacity: 0.65; font-style: normal; }
.softpenalty div { overflow-x: auto; }
.softpenalty table { border-collapse: collapse; font-size: inherit; white-space: nowrap; color: inherit;
  font-variant-numeric: tabular-nums; margin: 0.6em 0; }
.softpenalty th, .softpenalty td { padding: 0.15em 0.7em; text-align: right; border: 0; background: none; }
.softpenalty th { font-weight: 600; border-bottom: 1px solid #8888; }
.softpenalty th[colspan] { border: 0; padding-bottom: 0; }
.softpenalty .name, .softpenalty .state { text-align: left; }
.softpenalty tr.active td { background: #4a90d922; }
.softpenalty tr.violated td { background: #e0533d2e; }
.softpenalty tr.rest td { opacity: 0.72; }
"""


def as_html(result: Mapping[str, Any]) -> str:
    """The report of a result with the fields of `Result`."""
    report = read(result)
    verdict, _, rest = report.message.partition(":")
    head = f'<b class="{"good" if report.success else "bad"}">{escape(verdict)}</b>'
    parts = [
        f"<p>{head}{':' if rest else ''}{escape(rest)}</p>",
        _pairs(report.facts, " "),
        _pairs(report.variables, " = "),
        _table(report),
        *(f"<p>{escape(note)}</p>" for note in report.notes),
        f"<p><b>Next:</b> {escape(report.advice)}</p>" if report.advice else "",
    ]
    return f'<style>{STYLE}</style><div class="softpenalty">{"".join(parts)}</div>'


def _pairs(pairs: list[tuple[str, str]], between: str) -> str:
    cells = " ".join(f"<span><i>{escape(name)}{between}</i>{value}</span>" for name, value in pairs)
    return f"<p>{cells}</p>" if cells else ""


def _table(report: Report) -> str:
    if not report.rows:
        return ""
    classes = ("state", "name")
    head = "".join(
        f'<th scope="col"{_class(classes, i)}>{escape(name)}</th>'
        for i, name in enumerate(HEAD[: report.columns])
    )
    above = f'<tr><th colspan="{len(HEAD) - 2}"></th><th colspan="2">{WORTH}</th></tr>'
    if report.columns < len(HEAD):
        above = ""
    rows = ""
    for row in report.rows:
        kind = row.state if row.state in (ACTIVE, VIOLATED) else "rest"
        cells = "".join(
            f"<td{_class(classes, i)}>{escape(cell)}</td>" for i, cell in enumerate(row[: report.columns])
        )
        rows += f'<tr class="{kind}">{cells}</tr>'
    return f"<div><table><thead>{above}<tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _class(classes: tuple[str, ...], index: int) -> str:
    return f' class="{classes[index]}"' if index < len(classes) else ""
