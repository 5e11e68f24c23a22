"""The paper's large table, ours beside the published one, in Markdown, LaTeX and HTML; and the check.

Every format shows our median, the published one, their ratio with its bootstrap interval, and a mark where
the ratio leaves its band (:mod:`softpenalty.study.published`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from softpenalty.study import figure_data, published
from softpenalty.study.agreement import FAITHFUL_STUDIES, LEVEL, Agreement
from softpenalty.study.figure_data import power_of_ten
from softpenalty.study.measured import (
    Breakdown,
    Entry,
    SlopeResult,
    Snapshot,
    Source,
    breakdowns,
    slope_results,
    table_agreement,
    table_entries,
)

PATH_TOLERANCE = 1e-3  # the end points of Fig. 4 are known to three decimals
_SHOWN = 6  # names listed in one line before the rest is only counted

LEGEND = (
    "Each cell: our median, the published median, their ratio with its bootstrap 95 % interval (our noise "
    "only). ✓ inside the band, ✗ outside it, – not measured."
)


# ---------------------------------------------------------------------------------------------- formats


def number(value: float, quantity: str) -> str:
    """A median as the table prints it: errors with three digits, iterations plain."""
    if not np.isfinite(value):
        return "–" if np.isnan(value) else "∞"
    if quantity == "iterations":
        return f"{value:g}"
    if 0.01 <= value < 1000.0:
        return f"{value:.3g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def signed(value: float) -> str:
    """A slope with its sign and three decimals, the minus as long as the plus."""
    return f"{value:+.3f}".replace("-", "−")


def mark(entry: Entry) -> str:
    """✓ inside the band, ✗ outside, – not measured."""
    if entry.measured is None:
        return "–"
    return "✓" if entry.in_band else "✗"


def markdown(entries: Sequence[Entry]) -> str:
    """The table in Markdown: a line a dimension and quantity, a column a configuration."""
    head = ["Problem", "N", "Median", *(published.LABELS[c] for c in published.CONFIGURATIONS)]
    lines = ["| " + " | ".join(head) + " |", "|---|--:|---" + "|---" * len(published.CONFIGURATIONS) + "|"]
    for kind, dimension, quantity, cells in _rows(entries):
        texts = [_plain(entry) for entry in cells]
        lines.append("| " + " | ".join([published.LABELS[kind], str(dimension), quantity, *texts]) + " |")
    return "\n".join([*lines, "", LEGEND, ""])


def latex(entries: Sequence[Entry]) -> str:
    """The table in LaTeX; needs no package but graphicx, and no special characters."""
    columns = "ll" + "|rrl" * len(published.CONFIGURATIONS)
    groups = " & ".join(rf"\multicolumn{{3}}{{c}}{{{published.LABELS[c]}}}" for c in published.CONFIGURATIONS)
    heads = " & ".join(["ours", "paper", "ratio"] * len(published.CONFIGURATIONS))
    lines = [
        r"\begin{table*}",
        r"\caption{Median error and iterations, ours beside the published ones. Ratios carry a bootstrap",
        r"95\,\% interval of our noise; a dagger marks those outside their band.}",
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
            lines += [r"\hline", rf"\multicolumn{{{width}}}{{l}}{{{published.LABELS[kind]}}} \\"]
            previous = kind
        first = str(dimension) if quantity == "error" else ""
        lines.append(rf"{first} & {quantity} & " + " & ".join(_latex_cell(entry) for entry in cells) + r" \\")
    return "\n".join([*lines, r"\end{tabular}}", r"\end{table*}", ""])


def html(entries: Sequence[Entry]) -> str:
    """The table in HTML, with a strip in each cell that shows the ratio inside its band."""
    names = published.CONFIGURATIONS
    groups = "".join(
        f'<th colspan="2" scope="colgroup"><i class="chip {name.replace(" ", "-")}"></i>'
        f"{published.LABELS[name]}</th>"
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
            name = f"<span>{published.LABELS[kind]}</span>"
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


# ------------------------------------------------------------------------------------------------ check


@dataclass(frozen=True)
class Check:
    """Outcome of the check: each finding is a sentence and whether it is as it should be, None if not judged.

    `judged` tells a study that failed from one that has too few trials to be judged.
    """

    findings: tuple[tuple[bool | None, str], ...]
    judged: bool
    in_band: int

    @property
    def passed(self) -> bool:
        """Whether the study reproduces the paper."""
        return all(good is None or good for good, _ in self.findings)

    @property
    def lines(self) -> list[str]:
        """The findings as sentences, the last one the verdict."""
        return [f"{_SIGNS[good]} {sentence}" for good, sentence in self.findings] + [self.verdict]

    @property
    def verdict(self) -> str:
        """One sentence that sums up."""
        total = len(published.MEDIANS)
        bands = f"{self.in_band} of {total} medians lie in their bands"
        if self.passed:
            return (
                "The study reproduces the paper: the medians differ by no more than chance "
                f"({bands}) and the laws of the sweeps hold."
            )
        if not self.judged:
            return (
                f"Not enough trials to judge: the check needs every cell with {published.SAMPLES} samples "
                f"({bands} so far)."
            )
        points = [good for good, _ in self.findings if good is not None]
        failed = points.count(False)
        return (
            f"The study does not pass the check: {failed} of its {len(points)} points "
            f"{'fails' if failed == 1 else 'fail'} (marked ✗); {bands}."
        )


_SIGNS = {True: "✓", False: "✗", None: "·"}


def check(records: Source) -> Check:
    """Compare the records with the paper: the table's 128 medians, the sweeps and the ends of Fig. 4.

    Passes only with at least `published.SAMPLES` trials a cell, medians that differ from the published ones
    by no more than chance (a faithful study fails here with a probability of `agreement.LEVEL`), and every
    slope, breakdown and end point where it belongs. The bands are shown, not judged.
    """
    trials = Snapshot(records)
    entries = table_entries(trials)
    slopes = slope_results(trials)
    breaks = breakdowns(trials)
    labels = published.LABELS
    cells = [(str(entry).rpartition(",")[0], entry.samples) for entry in entries[::2]]
    swept = [(f"{r.law.experiment} sweep, {labels[r.law.configuration]}", r.samples) for r in slopes]
    swept += [
        (f"{b.experiment} = {power_of_ten(b.parameter)}, {labels[b.configuration]}", b.samples)
        for b in breaks
    ]
    completeness = [_complete("cells of the table", cells), _complete("parts of the sweeps", swept)]
    findings = [
        *completeness,
        _band_finding(entries),
        *_agreement_findings(entries, table_agreement(trials, entries)),
        *(_slope_finding(result) for result in slopes),
        *(_breakdown_finding(result) for result in breaks),
        *_path_findings(),
    ]
    return Check(tuple(findings), all(good for good, _ in completeness), sum(e.in_band for e in entries))


def _complete(what: str, samples: Sequence[tuple[str, int]]) -> tuple[bool, str]:
    needed = published.SAMPLES
    short = [f"{name} ({found})" for name, found in samples if found < needed]
    if not short:
        return True, f"All {len(samples)} {what} have at least {needed} samples."
    return False, f"{len(short)} of {len(samples)} {what} have fewer than {needed} samples: {_listed(short)}."


def _band_finding(entries: Sequence[Entry]) -> tuple[None, str]:
    outside = [f"{e}: {_beside(e)}" for e in entries if e.measured is not None and not e.in_band]
    inside = sum(entry.in_band for entry in entries)
    sentence = f"{inside} of {len(entries)} medians lie in their bands (shown, not judged)"
    return None, sentence + (f"; outside: {_listed(outside)}." if outside else ".")


def _agreement_findings(
    entries: Sequence[Entry], found: Agreement | None
) -> Iterator[tuple[bool | None, str]]:
    if found is None:
        yield False, "No median of the table is measured."
        return
    limit = f"of faithful studies (must be at least {100.0 * LEVEL / 2:g} %)."
    farthest = max(entries, key=lambda entry: np.nan_to_num(abs(entry.score), nan=-1.0))
    yield (
        found.largest_holds,
        f"Farthest from the paper: {farthest}, {_beside(farthest)}, {found.largest:.1f} standard deviations; "
        f"chance does as much in {_percent(found.largest_chance)} {limit}",
    )
    yield (
        found.total_holds,
        f"All {found.figures} medians together: the squares of their standard deviations add up to "
        f"{found.total:.0f}; chance does as much in {_percent(found.total_chance)} {limit}",
    )


def _percent(share: float) -> str:
    least = 100.0 / FAITHFUL_STUDIES
    return f"less than {least:g} %" if share == 0.0 else f"{100.0 * share:.2g} %"


def _beside(entry: Entry) -> str:
    value = np.nan if entry.measured is None else entry.measured.value
    return f"{number(value, entry.quantity)} against {number(entry.published, entry.quantity)}"


def _slope_finding(result: SlopeResult) -> tuple[bool, str]:
    law = result.law
    measured = "is not measured"
    if not np.isnan(result.value):
        measured = f"is {signed(result.value)} ({signed(result.of_medians)} through the medians)"
    return result.holds, (
        f"Slope of log error against log {law.experiment} for {published.LABELS[law.configuration]} on "
        f"{power_of_ten(law.low)}…{power_of_ten(law.high)} {measured}; it should be {signed(law.value)} "
        f"± {law.tolerance:g}."
    )


def _breakdown_finding(result: Breakdown) -> tuple[bool, str]:
    name = published.LABELS[result.configuration]
    where = f"At {result.experiment} = {power_of_ten(result.parameter)} the error of {name}"
    if np.isnan(result.factor):
        return False, f"{where} is not measured (should leave the line)."
    leaves = "leaves the line" if result.holds else "does not leave the line"
    return (
        result.holds,
        f"{where} {leaves}: {number(result.factor, 'error')} times what the line gives (should leave it).",
    )


def _path_findings() -> Iterator[tuple[bool, str]]:
    for path in figure_data.paths():
        x, y = published.PATH_ENDS[path.configuration]
        near = max(abs(path.end[0] - x), abs(path.end[1] - y)) <= PATH_TOLERANCE
        yield (
            near,
            (
                f"Fig. 4, {published.LABELS[path.configuration]}: ends at ({path.end[0]:.3f}, "
                f"{path.end[1]:.3f}) after {path.iterations} iterations (should be ({x:.3f}, {y:.3f}), "
                f"{published.PATH_ITERATIONS[path.configuration]} iterations)."
            ),
        )


def _listed(names: Sequence[str]) -> str:
    shown = "; ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown}; and {len(names) - _SHOWN} more"
