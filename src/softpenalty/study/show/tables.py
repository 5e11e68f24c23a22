"""The paper's large table, ours beside the published one, in Markdown, LaTeX and HTML.

Every format shows our median, the published one, their ratio with its bootstrap interval, and a mark where
the ratio leaves its band (:mod:`softpenalty.study.design.published`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from ..design import published
from ..design.experiments import LABELS
from ..judge.medians import CONFIDENCE
from ..judge.numbers import number
from ..judge.table import Entry

LEGEND = (
    "Each cell: our median, the published median, their ratio with its bootstrap "
    f"{100 * CONFIDENCE:g} % interval (our noise only). ✓ inside the band, ✗ outside it, – not measured."
)


def css_name(configuration: str) -> str:
    """Class and variable of a configuration's colour on a page."""
    return configuration.replace(" ", "-")


def mark(entry: Entry) -> str:
    """✓ inside the band, ✗ outside, – not measured."""
    if entry.measured is None:
        return "–"
    return "✓" if entry.in_band else "✗"


def markdown(entries: Sequence[Entry]) -> str:
    """The table in Markdown: a line a dimension and quantity, a column a configuration."""
    head = ["Problem", "N", "Median", *(LABELS[c] for c in published.CONFIGURATIONS)]
    lines = ["| " + " | ".join(head) + " |", "|---|--:|---" + "|---" * len(published.CONFIGURATIONS) + "|"]
    for kind, dimension, quantity, cells in _rows(entries):
        texts = [_plain(entry) for entry in cells]
        lines.append("| " + " | ".join([LABELS[kind], str(dimension), quantity, *texts]) + " |")
    return "\n".join([*lines, "", LEGEND, ""])


def latex(entries: Sequence[Entry]) -> str:
    """The table in LaTeX; needs no package but graphicx, and no special characters."""
    columns = "ll" + "|rrl" * len(published.CONFIGURATIONS)
    groups = " & ".join(rf"\multicolumn{{3}}{{c}}{{{LABELS[c]}}}" for c in published.CONFIGURATIONS)
    heads = " & ".join(["ours", "paper", "ratio"] * len(published.CONFIGURATIONS))
    lines = [
        r"\begin{table*}",
        r"\caption{Median error and iterations, ours beside the published ones. Ratios carry a bootstrap",
        rf"{100 * CONFIDENCE:g}\,\% interval of our noise; a dagger marks those outside their band.}}",
        r"\centering",
        r"\resizebox{\linewidth}{!}{%",
        rf"\begin{{tabular}}{{{columns}}}",
        rf"$N$ & & {groups} \\",
        rf" & & {heads} \\",
    ]
    previous = ""
    for kind, dimension, quantity, cells in _rows(entries):
        if kind != previous:
            width = 2 + 3 * len(published.CONFIGURATIONS)
            lines += [r"\hline", rf"\multicolumn{{{width}}}{{l}}{{{LABELS[kind]}}} \\"]
            previous = kind
        first = str(dimension) if quantity == "error" else ""
        lines.append(rf"{first} & {quantity} & " + " & ".join(_latex_cell(entry) for entry in cells) + r" \\")
    return "\n".join([*lines, r"\end{tabular}}", r"\end{table*}", ""])


def html(entries: Sequence[Entry]) -> str:
    """The table in HTML, with a strip in each cell that shows the ratio inside its band."""
    names = published.CONFIGURATIONS
    groups = "".join(
        f'<th colspan="2" scope="colgroup"><i class="chip {css_name(name)}"></i>{LABELS[name]}</th>'
        for name in names
    )
    lines = [
        '<table class="large">',
        f"<caption><span>{LEGEND}</span></caption>",
        f'<thead><tr><th rowspan="2" scope="col">Problem</th><th rowspan="2" scope="col">N</th>{groups}</tr>',
        "<tr>" + '<th scope="col">Error</th><th scope="col">Iterations</th>' * len(names) + "</tr></thead>",
    ]
    for kind, rows in groupby(entries, key=lambda entry: entry.kind):
        lines.append("<tbody>")
        for dimension, row in groupby(rows, key=lambda entry: entry.dimension):
            first = dimension == published.DIMENSIONS[0]
            span = len(published.DIMENSIONS)
            name = f"<span>{LABELS[kind]}</span>"
            head = f'<th class="kind" rowspan="{span}" scope="rowgroup">{name}</th>'
            cells = "".join(_html_cell(entry) for entry in row)
            lines.append(f'<tr>{head if first else ""}<th scope="row">{dimension}</th>{cells}</tr>')
        lines.append("</tbody>")
    return "\n".join([*lines, "</table>", ""])


def _rows(entries: Sequence[Entry]) -> Iterator[tuple[str, int, str, list[Entry]]]:
    """(kind, dimension, quantity, one entry a configuration) in the order of the table."""
    for (kind, dimension), group in groupby(entries, key=lambda entry: (entry.kind, entry.dimension)):
        row = list(group)
        for quantity in published.QUANTITIES:
            yield kind, dimension, quantity, [entry for entry in row if entry.quantity == quantity]


def _plain(entry: Entry) -> str:
    paper = number(entry.published, entry.quantity)
    if entry.measured is None:
        return f"– / {paper} –"
    low, high = entry.interval
    ours = number(entry.measured.value, entry.quantity)
    return f"**{ours}** / {paper} ×{entry.ratio:.2f} [{low:.2f}, {high:.2f}] {mark(entry)}"


def _latex_cell(entry: Entry) -> str:
    paper = _latex_number(entry.published, entry.quantity)
    if entry.measured is None:
        return f"-- & {paper} & --"
    low, high = entry.interval
    dagger = "" if entry.in_band else r"$^\dagger$"
    ours = _latex_number(entry.measured.value, entry.quantity)
    return rf"{ours} & {paper} & {entry.ratio:.2f}{dagger} {{\scriptsize [{low:.2f}, {high:.2f}]}}"


def _latex_number(value: float, quantity: str) -> str:
    if not np.isfinite(value):
        return r"$\infty$"
    if quantity == "iterations":
        return f"{value:g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return rf"${mantissa}\cdot10^{{{int(exponent)}}}$"


def _html_cell(entry: Entry) -> str:
    paper = number(entry.published, entry.quantity)
    if entry.measured is None:
        return f'<td class="missing"><b>–</b> <span class="paper">{paper}</span></td>'
    low, high = entry.interval
    state = "inside" if entry.in_band else "outside"
    tip = f"{entry}: {entry.samples} samples, band {entry.band}, {entry.deviation:.2f} of it used"
    return (
        f'<td class="{state}" data-tip="{tip}">'
        f'<b>{number(entry.measured.value, entry.quantity)}</b> <span class="paper">{paper}</span>'
        f"{_strip(entry)}"
        f'<span class="ratio">×{entry.ratio:.2f} <small>[{low:.2f}, {high:.2f}]</small> '
        f'<span class="mark">{mark(entry)}</span></span></td>'
    )


def _strip(entry: Entry) -> str:
    """The ratio, its interval and its band on a line from half to twice the published median."""

    def place(ratio: float) -> float:
        return round(50.0 + 50.0 * float(np.clip(np.log2(max(ratio, 1e-3)), -1.0, 1.0)), 1)

    low, high = (place(limit / entry.published) for limit in entry.band.limits(entry.published))
    start, end = (place(limit) for limit in entry.interval)
    return (
        '<svg class="strip" viewBox="0 0 100 8" aria-hidden="true">'
        f'<rect x="{low}" y="0" width="{high - low:.1f}" height="8" rx="2"/>'
        f'<path d="M50 0v8M{start} 4H{end}"/>'
        f'<circle cx="{place(entry.ratio)}" cy="4" r="2.6"/></svg>'
    )
