"""The study's report: one HTML file that needs nothing else, with the table and the figures beside it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

import matplotlib as mpl
import numpy as np

from ..design import experiments, published
from ..files import write_whole
from ..judge import claims, findings
from ..judge.check import Check, check
from ..judge.claims import Claim, Verdict
from ..judge.facts import Facts
from ..judge.findings import Finding, Grid
from ..judge.table import Entry
from ..judge.trials import group_by
from ..records import RECORDS_NAME, Records
from . import drawing, figures, tables
from .export import export_csv, export_parquet
from .figures import FigureOf

TITLE = "Softplus penalty functions: the study, repeated"
REPORT_NAME = "report.html"
_SWIPE = '<p class="swipe">Wider than the screen: swipe sideways →</p>'
_VERDICT_CLASSES = {
    Verdict.HOLDS: "good",
    Verdict.PARTLY: "part",
    Verdict.FAILS: "bad",
    Verdict.UNKNOWN: "none",
}
_META = {
    "created": "first trial",
    "seed": "seed",
    "samples": "samples per cell",
    "problems": "problems",
    "engine": "engine",
    "machine": "machine",
    "cores": "cores",
    "python": "Python",
    "softpenalty": "softpenalty",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "numba": "numba",
}


def write_report(out_dir: Path | str) -> Path:
    """Write table, figures and report of the records in `out_dir`, and return the report's path.

    Writes ``table.md``, ``table.tex``, ``table.html``, the figures as SVG and PNG, the trials as CSV and
    Parquet, and ``report.html`` with links to them. Every file is replaced whole. Records of a part of the
    study are enough: what they lack is said in its place.

    Parameters
    ----------
    out_dir : Path or str
        Folder with ``records.sqlite``.
    """
    folder = Path(out_dir)
    with Records(folder / RECORDS_NAME) as records:
        facts = Facts(records)
        export_csv(records, folder / "records.csv")
        if find_spec("pyarrow") is not None:
            export_parquet(records, folder / "records.parquet")
    write_whole(folder / "table.md", tables.markdown(facts.entries).encode())
    write_whole(folder / "table.tex", tables.latex(facts.entries).encode())
    write_whole(folder / "table.html", _table_page(facts.entries).encode())
    every = [*figures.FIGURES, figures.SUMMARY]
    every += [each for name, each in figures.COMPARISONS.items() if name in facts.experiments]
    drawn = {each.name: figures.save(each, facts, folder / "figures") for each in every}
    return write_whole(folder / REPORT_NAME, page(facts, drawn).encode())


def page(facts: Facts, drawn: dict[str, str]) -> str:
    """The report as text; `drawn` holds the SVG of each figure by name."""
    checked = check(facts)
    sign, colour = _verdict_sign(checked)
    headline, beside = list(claims.headline_claims(facts)), list(claims.result_claims(facts))
    found, solvers = findings.findings(facts), findings.solvers_summary(facts)
    balance = findings.balance_summary(facts)
    return Template(_template()).substitute(
        title=TITLE,
        lead=_lead(facts),
        verdict=escape(checked.verdict),
        verdict_sign=sign,
        verdict_class=colour,
        tiles=_tiles(facts, checked),
        matrix=_matrix(facts.entries),
        picture=_picture(drawn),
        brief=_brief(headline),
        headline=_claims(headline),
        results=_claims(beside),
        claims_gist=_counted([*headline, *beside]),
        table_gist=f"{checked.in_band} of {len(facts.entries)} medians in their band",
        findings_gist=f"{len(found)} findings of our own, and where text and numbers part",
        balance_gist=escape(balance[1] if len(balance) > 1 else "not on record"),
        solvers_gist=escape(" ".join(s for s in solvers if s != findings.WHY_MORE) or "not on record"),
        check_gist=_outcome(checked),
        run_gist=f"{len(facts):,} trials on record, as CSV, Parquet, LaTeX, SVG and PNG",
        table=tables.html(facts.entries),
        figures="\n".join(
            _figure(f"Fig. {i}. {each.title}", each, drawn) for i, each in enumerate(figures.FIGURES, 1)
        ),
        findings="\n".join(_finding(finding) for finding in found),
        contradictions=_claims(claims.contradictions(facts)),
        balance=_sentences(balance) + _comparison(facts, "balance", drawn),
        solvers=_sentences(solvers) + _comparison(facts, "solvers", drawn),
        files=_files(drawn),
        check=_check(checked),
        run=_run(facts),
        footer=f"Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC from {RECORDS_NAME}. "
        "The paper: S. Meili, Softplus Penalty Functions for Constrained Optimization.",
    )


def _template() -> str:
    """The page with its colours, which are those of the figures."""
    text = files(__package__).joinpath("report_template.html").read_text(encoding="utf-8")
    light = {"ink": drawing.INK, "paper": drawing.PAPER, "grid": drawing.GRID}
    light |= {tables.css_name(name): colour for name, (colour, _) in experiments.COLOURS.items()}
    dark = {tables.css_name(name): colour for name, (_, colour) in experiments.COLOURS.items()}
    chips = " ".join(f".chip.{name} {{ background: var(--{name}); }}" for name in dark)
    return text.replace("$light", _declared(light)).replace("$dark", _declared(dark)).replace("$chips", chips)


def _declared(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def _table_page(entries: list[Entry]) -> str:
    """The table by itself, in the report's style."""
    style = _template().partition("<style>")[2].partition("</style>")[0]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        f"<style>{style}</style></head><body>\n{tables.html(entries)}</body></html>\n"
    )


# --------------------------------------------------------------------------------------------------- parts


def _lead(facts: Facts) -> str:
    meta = facts.meta
    seconds = float(meta.get("wall_seconds", "nan"))
    took = f" in {_duration(seconds)}" if seconds > 0.0 else ""
    return (
        f"Every experiment of the paper, run again: {len(facts):,} trials{took} with seed "
        f"{escape(meta['seed'])}, started {escape(meta.get('created', 'at an unknown time')[:10])}."
    )


def _verdict_sign(check: Check) -> tuple[str, str]:
    if check.passed:
        return "✓", "good"
    return ("✗", "bad") if check.judged else ("…", "part")


def _tiles(facts: Facts, check: Check) -> str:
    measured = [entry for entry in facts.entries if entry.measured is not None]
    slopes = [result for result in facts.slopes if not np.isnan(result.value)]
    ratios = [entry.ratio for entry in measured if 0.0 < entry.ratio < np.inf]
    tiles = {"medians in their band": f"{check.in_band} of {len(facts.entries)}"}
    if slopes:
        tiles["sweep slopes that hold"] = (
            f"{sum(result.holds for result in slopes)} of {len(published.SLOPES)}"
        )
    if ratios:
        tiles["ours / published, on average"] = f"{np.exp(np.mean(np.log(ratios))):.3f}"
        tiles["largest deviation, in bands"] = f"{max(entry.deviation for entry in measured):.2f}"
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in tiles.items())


def _matrix(entries: list[Entry]) -> str:
    """All 128 medians as squares, in the order of the table."""
    squares = []
    for index, entry in enumerate(entries):
        if index and entry.kind != entries[index - 1].kind:
            squares.append('<i class="gap"></i>')
        state = "missing" if entry.measured is None else "inside" if entry.in_band else "outside"
        squares.append(f'<i class="{state}" data-tip="{entry}: ×{entry.ratio:.2f}, band {entry.band}"></i>')
    inside = sum(entry.in_band for entry in entries)
    label = f"{inside} of {len(entries)} medians lie in their bands"
    return (
        f'<figure class="matrix"><div class="cells" role="img" aria-label="{label}">{"".join(squares)}</div>'
        "<figcaption>Every median of the table: green in its band, red outside, grey not measured. Above "
        "hyperplanes, below hypersphere.</figcaption></figure>"
    )


def _claims(items: Iterable[Claim]) -> str:
    cards = [
        f'<li><span class="source">{escape(item.source)}</span>'
        f'<span class="chip-verdict {_VERDICT_CLASSES[item.verdict]}">{item.verdict.value}</span>'
        f"<h3>{escape(item.statement)}</h3><p>{escape(item.measured)}</p></li>"
        for item in items
    ]
    return f'<ul class="claims">{"".join(cards)}</ul>'


def _figure(title: str, figure: FigureOf, drawn: dict[str, str]) -> str:
    return (
        f'<figure class="plot" id="{figure.name}"><h3>{escape(title)}</h3>{_SWIPE}{_inline(figure, drawn)}'
        f"<figcaption>{escape(figure.caption)} {_links(figure.name)}</figcaption></figure>"
    )


def _inline(figure: FigureOf, drawn: dict[str, str]) -> str:
    svg = figures.inline(drawn[figure.name], figure.name)
    return f'<div class="scroll" role="img" aria-label="{escape(figure.alternative)}">{svg}</div>'


def _links(name: str) -> str:
    """Links to the files of a figure."""
    links = (f'<a href="figures/{name}.{ending}">{ending.upper()}</a>' for ending in ("svg", "png"))
    return f'<span class="files">{" · ".join(links)}</span>'


def _picture(drawn: dict[str, str]) -> str:
    """The study in one picture."""
    figure = figures.SUMMARY
    caption = f"{escape(figure.caption)} {_links(figure.name)}"
    return f'<figure class="picture">{_inline(figure, drawn)}<figcaption>{caption}</figcaption></figure>'


def _brief(items: list[Claim]) -> str:
    """The headline claims, a line each with its verdict."""
    lines = (
        f'<li><span class="chip-verdict {_VERDICT_CLASSES[item.verdict]}">{item.verdict.value}</span> '
        f"{escape(item.statement)}</li>"
        for item in items
    )
    return f'<ul class="brief">{"".join(lines)}</ul>'


def _counted(items: list[Claim]) -> str:
    """How many claims hold, and how many do not."""
    counts = ((verdict.value, sum(item.verdict is verdict for item in items)) for verdict in Verdict)
    return ", ".join(f"{words}: {count}" for words, count in counts if count)


def _outcome(check: Check) -> str:
    """How many lines of a check say yes and no."""
    good, bad = (sum(line is answer for line, _ in check.findings) for answer in (True, False))
    return f"{good} lines agree, {bad} do not"


def _files(drawn: dict[str, str]) -> str:
    """Links to everything that was written beside the page."""
    kinds = {
        "all trials": ["records.csv", *(["records.parquet"] if find_spec("pyarrow") else []), RECORDS_NAME],
        "the table": ["table.tex", "table.md", "table.html"],
        "the figures": [f"figures/{name}.{ending}" for name in drawn for ending in ("svg", "png")],
    }
    items = (
        f"<dt>{kind}</dt><dd>"
        + " ".join(f'<a href="{name}">{name.removeprefix("figures/")}</a>' for name in names)
        + "</dd>"
        for kind, names in kinds.items()
    )
    return f'<dl class="run links">{"".join(items)}</dl>'


def _finding(finding: Finding) -> str:
    grid = "" if finding.grid is None else _grid(finding.grid)
    return f"<h3>{escape(finding.title)}</h3><p>{escape(finding.text)}</p>{grid}"


def _grid(grid: Grid) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in grid.head)
    rows = ""
    for first, *cells in grid.rows:
        values = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows += f'<tr><th scope="row">{escape(first)}</th>{values}</tr>'
    return (
        f'{_SWIPE}<div class="box" tabindex="0" role="region" aria-label="{escape(grid.caption)}"><table>'
        f"<caption><span>{escape(grid.caption)}</span></caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _sentences(sentences: list[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


def _comparison(facts: Facts, experiment: str, drawn: dict[str, str]) -> str:
    missing = findings.missing_configurations(facts, experiment)
    note = f'<p class="absent">Not on record: {", ".join(missing)}.</p>' if missing else ""
    figure = figures.COMPARISONS[experiment]
    plot = _figure(figure.title, figure, drawn) if figure.name in drawn else ""
    return note + plot + "".join(_grid(grid) for grid in findings.comparison(facts, experiment))


def _check(check: Check) -> str:
    marks = {True: "", False: ' class="no"', None: ' class="shown"'}
    items = "".join(f"<li{marks[good]}>{escape(sentence)}</li>" for good, sentence in check.findings)
    return f'<ul class="check">{items}</ul>'


def _run(facts: Facts) -> str:
    meta = facts.meta
    shown = {label: meta[key] for key, label in _META.items() if key in meta}
    shown["Matplotlib"] = mpl.__version__
    for key, label in (("wall_seconds", "time of all runs"), ("cpu_seconds", "CPU time of all runs")):
        if float(meta.get(key, "0")) > 0.0:
            shown[label] = _duration(float(meta[key]))
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in shown.items())
    rows = []
    for experiment, trials in facts.experiments.items():
        cells = group_by(trials, "kind", "dimension", "configuration", "sigma", "alpha")
        sizes = [cell["problem"].size for cell in cells.values()]
        span = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)}–{max(sizes)}"
        dimensions = ", ".join(str(n) for n in np.unique(trials["dimension"]))
        rows.append((experiment, dimensions, str(len(cells)), span, f"{trials['problem'].size:,}"))
    grid = Grid(
        "Trials on record", ("experiment", "dimensions", "cells", "samples a cell", "trials"), tuple(rows)
    )
    note = "<p>Rows are equal to the last bit on equal processors only; medians agree on all.</p>"
    return f'<dl class="run">{listed}</dl>{note}{_grid(grid)}'


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0 or hours > 0) + [f"{rest} s"]
    return " ".join(parts)
