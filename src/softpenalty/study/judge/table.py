"""The paper's large table: our medians beside the published ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby

import numpy as np

from ..design import published
from ..design.experiments import LABELS
from ..design.published import Band
from .agreement import Agreement, agreement, score, sign_correlation
from .medians import Median, median_of
from .trials import COLUMN_OF, Columns

Cells = Mapping[tuple[str, int, str], Columns]
"""Trials by (kind, dimension, configuration)."""


@dataclass(frozen=True)
class Entry:
    """One of the 128 figures of the paper's table, ours beside the published one.

    `measured` is None where the records hold no trial of the cell; `score` is how far the two medians lie
    apart, in standard deviations of their noise (:mod:`.agreement`).
    """

    kind: str
    dimension: int
    configuration: str
    quantity: str
    published: float
    band: Band
    measured: Median | None
    score: float = math.nan

    @property
    def ratio(self) -> float:
        """Ours divided by the published median; NaN without records."""
        return math.nan if self.measured is None else self.measured.value / self.published

    @property
    def interval(self) -> tuple[float, float]:
        """Bootstrap interval of the ratio; it holds our noise only, not that of the published median."""
        if self.measured is None:
            return math.nan, math.nan
        return self.measured.low / self.published, self.measured.high / self.published

    @property
    def deviation(self) -> float:
        """Distance from the published median in units of the band; infinite without records."""
        if self.measured is None:
            return math.inf
        return self.band.deviation(self.measured.value, self.published)

    @property
    def in_band(self) -> bool:
        """Whether our median lies in the band around the published one."""
        return self.deviation <= 1.0 + 1e-12  # a median on the edge is inside, whatever the rounding

    @property
    def samples(self) -> int:
        """Trials behind our median."""
        return 0 if self.measured is None else self.measured.samples

    @property
    def cell(self) -> str:
        """Name of its cell, which holds an entry a quantity."""
        return f"{LABELS[self.kind].lower()} N={self.dimension}, {LABELS[self.configuration]}"

    def __str__(self) -> str:
        return f"{self.cell}, {self.quantity}"


def table_entries(cells: Cells) -> list[Entry]:
    """The table's 128 figures, in the order of the paper: kind, dimension, configuration, quantity."""
    entries = []
    for (kind, dimension, configuration, quantity), value in published.MEDIANS.items():
        cell = cells.get((kind, dimension, configuration))
        allowed = published.band(kind, dimension, configuration, quantity)
        entry = Entry(kind, dimension, configuration, quantity, value, allowed, None)
        if cell is not None:
            values = cell[COLUMN_OF[quantity]]
            entry = replace(entry, measured=median_of(values), score=float(score(values, value)))
        entries.append(entry)
    return entries


def table_agreement(cells: Cells, entries: Sequence[Entry]) -> Agreement | None:
    """Whether the table's figures agree with the published ones; None without any."""
    groups = []
    for _, group in groupby(entries, key=lambda entry: (entry.kind, entry.dimension)):
        figures = [entry for entry in group if entry.measured is not None]
        if not figures:
            continue
        trials = [cells[entry.kind, entry.dimension, entry.configuration] for entry in figures]
        shared = reduce(np.intersect1d, [cell["problem"] for cell in trials])
        values = [
            cell[COLUMN_OF[entry.quantity]][np.isin(cell["problem"], shared)]
            for cell, entry in zip(trials, figures, strict=True)
        ]
        groups.append((np.array([entry.score for entry in figures]), sign_correlation(np.array(values))))
    return agreement(groups) if groups else None
