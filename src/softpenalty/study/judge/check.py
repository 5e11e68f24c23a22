"""Whether a study reproduces the paper, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..design import published
from ..design.experiments import LABELS
from . import corner
from .agreement import FAITHFUL_STUDIES, LEVEL, Agreement
from .facts import Facts
from .numbers import number, power_of_ten, signed
from .sweeps import Breakdown, SlopeResult
from .table import Entry

PATH_TOLERANCE = 1e-3  # the end points of Fig. 4 are known to three decimals
_SHOWN = 6  # names listed in one line before the rest is only counted


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


def check(facts: Facts) -> Check:
    """Compare the records with the paper: the table's 128 medians, the sweeps and the ends of Fig. 4.

    Passes only with at least `published.SAMPLES` trials a cell, medians that differ from the published ones
    by no more than chance (a faithful study fails here with a probability of `agreement.LEVEL`), and every
    slope, breakdown and end point where it belongs. The bands are shown, not judged.
    """
    cells = {entry.cell: entry.samples for entry in facts.entries}
    swept = {f"{r.law.experiment} sweep, {LABELS[r.law.configuration]}": r.samples for r in facts.slopes} | {
        f"{b.experiment} = {power_of_ten(b.parameter)}, {LABELS[b.configuration]}": b.samples
        for b in facts.breakdowns
    }
    completeness = [_complete("cells of the table", cells), _complete("parts of the sweeps", swept)]
    findings = [
        *completeness,
        _band_finding(facts.entries),
        *_agreement_findings(facts.entries, facts.agreement),
        *(_slope_finding(result) for result in facts.slopes),
        *(_breakdown_finding(result) for result in facts.breakdowns),
        *_path_findings(),
    ]
    return Check(
        tuple(findings), all(good for good, _ in completeness), sum(e.in_band for e in facts.entries)
    )


def _complete(what: str, samples: dict[str, int]) -> tuple[bool, str]:
    needed = published.SAMPLES
    short = [f"{name} ({found})" for name, found in samples.items() if found < needed]
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
        f"Slope of log error against log {law.experiment} for {LABELS[law.configuration]} on "
        f"{power_of_ten(law.low)}…{power_of_ten(law.high)} {measured}; it should be {signed(law.value)} "
        f"± {law.tolerance:g}."
    )


def _breakdown_finding(result: Breakdown) -> tuple[bool, str]:
    name = LABELS[result.configuration]
    where = f"At {result.experiment} = {power_of_ten(result.parameter)} the error of {name}"
    if np.isnan(result.factor):
        return False, f"{where} is not measured (should leave the line)."
    leaves = "leaves the line" if result.holds else "does not leave the line"
    return (
        result.holds,
        f"{where} {leaves}: {number(result.factor, 'error')} times what the line gives (should leave it).",
    )


def _path_findings() -> Iterator[tuple[bool, str]]:
    for path in corner.paths():
        x, y = published.PATH_ENDS[path.configuration]
        near = max(abs(path.end[0] - x), abs(path.end[1] - y)) <= PATH_TOLERANCE
        yield (
            near,
            (
                f"Fig. 4, {LABELS[path.configuration]}: ends at ({path.end[0]:.3f}, "
                f"{path.end[1]:.3f}) after {path.iterations} iterations (should be ({x:.3f}, {y:.3f}), "
                f"{published.PATH_ITERATIONS[path.configuration]} iterations)."
            ),
        )


def _listed(names: Sequence[str]) -> str:
    shown = "; ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown}; and {len(names) - _SHOWN} more"
