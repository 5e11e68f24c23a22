"""What the records say: medians with their bootstrap interval, beside the published ones, and sweep slopes.

Examples
--------
>>> import numpy as np
>>> median_of(np.arange(1.0, 102.0)).value
51.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpenalty.study import published
from softpenalty.study.agreement import Agreement, agreement, score, sign_correlation
from softpenalty.study.published import Band, Slope
from softpenalty.study.records import Records

Columns = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]

CONFIDENCE = 0.95
RESAMPLES = 10_000
_BOOTSTRAP_SEED = 95  # intervals are the same on every call
BREAKDOWN_FACTOR = 3.0  # the points on a line scatter by a few percent, a broken one lies far off
COLUMN_OF = {"error": "distance", "iterations": "iterations"}


class Snapshot:
    """All trials of a study as they are on file now, read once; a run that goes on does not change them.

    Parameters
    ----------
    records : Records or Snapshot
        Records of a study, complete or not.
    """

    def __init__(self, records: Records | Snapshot) -> None:
        columns = records.select()
        self.meta: dict[str, str] = records.meta
        self._whole = columns
        self._experiments = {key[0]: part for key, part in group_by(columns, "experiment").items()}

    def select(self, *, experiment: str | None = None) -> Columns:
        """Columns of the trials of one experiment, or of all."""
        if experiment is None:
            return self._whole
        return self._experiments.get(experiment, {name: column[:0] for name, column in self._whole.items()})

    def __len__(self) -> int:
        return int(self._whole["problem"].size)


Source = Records | Snapshot
"""Where trials are read from: a snapshot is read once, a file each time it is asked."""


@dataclass(frozen=True)
class Median:
    """Median of a sample and its bootstrap interval at level `CONFIDENCE`."""

    value: float
    low: float
    high: float
    samples: int


@dataclass(frozen=True)
class Entry:
    """One of the 128 figures of the paper's table, ours beside the published one.

    `measured` is None where the records hold no trial of the cell; `score` is how far the two medians lie
    apart, in standard deviations of their noise (:mod:`softpenalty.study.agreement`).
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

    def __str__(self) -> str:
        labels = published.LABELS
        return (
            f"{labels[self.kind].lower()} N={self.dimension}, {labels[self.configuration]}, {self.quantity}"
        )


@dataclass(frozen=True)
class Sweep:
    """Errors of one configuration along one parameter, in ascending order of the parameter.

    Parameters
    ----------
    parameters, medians, samples : arrays (k,)
        Values of the parameter, with the median error and the number of trials at each.
    errors : array (k, m)
        Errors of the m problems that are on record at every value.
    """

    parameters: Floats
    medians: Floats
    samples: NDArray[np.int64]
    errors: Floats

    def between(self, low: float, high: float) -> Sweep:
        """Part of the sweep with ``low <= parameter <= high`` (ends included, whatever their rounding)."""
        inside = (self.parameters > low / 1.5) & (self.parameters < high * 1.5)
        return Sweep(self.parameters[inside], self.medians[inside], self.samples[inside], self.errors[inside])

    def slope(self) -> float:
        """Median over the problems of each one's slope of log(error) against log(parameter); NaN without any.

        A sweep solves the same problems at every value of its parameter, so each problem has a slope of its
        own. Their median does not depend on which problems were drawn, and the trials that the optimizer
        abandons, more and more of them towards the end of a law, do not tilt it as they do the medians.
        """
        return _median_slope(self.parameters, self.errors)

    def local_slopes(self) -> Floats:
        """The same between neighbours: array (k − 1,)."""
        pairs = range(1, self.parameters.size)
        return np.array(
            [_median_slope(self.parameters[i - 1 : i + 1], self.errors[i - 1 : i + 1]) for i in pairs]
        )

    def line(self) -> tuple[float, float]:
        """Slope and offset of the line through log10(median) by least squares; NaN when undefined."""
        usable = np.isfinite(self.medians) & (self.medians > 0.0)
        if self.parameters.size < 2 or not usable.all():
            return np.nan, np.nan
        slope, offset = np.polyfit(np.log10(self.parameters), np.log10(self.medians), 1)
        return float(slope), float(offset)


EMPTY_SWEEP = Sweep(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64), np.empty((0, 0)))


def _median_slope(parameters: Floats, errors: Floats) -> float:
    usable = (np.isfinite(errors) & (errors > 0.0)).all(axis=0)
    if parameters.size < 2 or not usable.any():
        return np.nan
    centred = np.log10(parameters) - np.mean(np.log10(parameters))
    slopes = centred @ np.log10(errors[:, usable]) / (centred @ centred)
    return float(np.median(slopes))


def group_by(columns: Columns, *names: str) -> dict[tuple[Any, ...], Columns]:
    """Split columns into groups of rows that agree in `names`; keys are tuples of Python values."""
    rows: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(zip(*(columns[name].tolist() for name in names), strict=True)):
        rows.setdefault(key, []).append(row)
    return {key: {name: column[index] for name, column in columns.items()} for key, index in rows.items()}


def median_of(values: NDArray[Any]) -> Median:
    """Median of `values` with its bootstrap interval."""
    resampled = resampled_medians(values, values.size)
    tail = 50.0 * (1.0 - CONFIDENCE)
    # "inverted_cdf" picks values that were drawn, so infinite distances do not turn into NaN
    low, high = np.percentile(resampled, [tail, 100.0 - tail], method="inverted_cdf")
    return Median(float(np.median(values)), float(low), float(high), values.size)


def resampled_medians(values: NDArray[Any], size: int) -> Floats:
    """Medians of `RESAMPLES` samples of `size` drawn from `values` with replacement.

    A resample's median depends on its middle ranks only, and those have a known distribution: the k-th
    smallest of m uniform numbers is Beta(k, m+1−k), and the next one lies a Beta(1, m−k) share of the rest
    above it. Drawing the two ranks is the bootstrap itself, at the cost of two numbers a resample.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    lower, upper = _middle_ranks(size)
    last = ordered.size - 1
    below = ordered[np.minimum((lower * ordered.size).astype(np.intp), last)]
    above = ordered[np.minimum((upper * ordered.size).astype(np.intp), last)]
    middle: Floats = 0.5 * below + 0.5 * above
    return middle


@lru_cache(maxsize=32)
def _middle_ranks(size: int) -> tuple[Floats, Floats]:
    """The two middle ranks, in [0, 1], of `RESAMPLES` samples of `size` uniform numbers."""
    generator = np.random.default_rng(_BOOTSTRAP_SEED)
    k = (size + 1) // 2
    lower = generator.beta(k, size + 1 - k, RESAMPLES)
    if size % 2:
        return lower, lower
    return lower, lower + (1.0 - lower) * generator.beta(1, size - k, RESAMPLES)


def table_entries(records: Source) -> list[Entry]:
    """The table's 128 figures, in the order of the paper: kind, dimension, configuration, quantity."""
    cells = _table_cells(records)
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


def table_agreement(records: Source, entries: Sequence[Entry]) -> Agreement | None:
    """Whether the table's figures agree with the published ones; None without any."""
    cells = _table_cells(records)
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


def _table_cells(records: Source) -> dict[tuple[Any, ...], Columns]:
    """Trials by (kind, dimension, configuration)."""
    cells: dict[tuple[Any, ...], Columns] = {}
    for kind in published.KINDS:
        cells |= group_by(records.select(experiment=kind), "kind", "dimension", "configuration")
    return cells


def sweeps(records: Source, experiment: str) -> dict[str, Sweep]:
    """Errors by configuration along the sweep ``"sigma"`` or ``"alpha"``."""
    columns = records.select(experiment=experiment)
    return {
        configuration: _sweep(trials, experiment)
        for (configuration,), trials in group_by(columns, "configuration").items()
    }


def _sweep(trials: Columns, parameter: str) -> Sweep:
    cells = [cell for _, cell in sorted(group_by(trials, parameter).items(), key=lambda item: item[0])]
    shared = reduce(np.intersect1d, [cell["problem"] for cell in cells])
    return Sweep(
        np.array([cell[parameter][0] for cell in cells]),
        np.array([np.median(cell["distance"]) for cell in cells]),
        np.array([cell["distance"].size for cell in cells]),
        np.array([cell["distance"][np.isin(cell["problem"], shared)] for cell in cells]),
    )


def _both_sweeps(records: Source) -> dict[str, dict[str, Sweep]]:
    return {experiment: sweeps(records, experiment) for experiment in ("sigma", "alpha")}


@dataclass(frozen=True)
class SlopeResult:
    """A measured slope beside its law; `samples` is that of the smallest point, 0 where one is missing.

    `of_medians` is the slope of the line through the medians, for comparison.
    """

    law: Slope
    value: float
    of_medians: float
    samples: int

    @property
    def holds(self) -> bool:
        """Whether the measured slope lies within the law's tolerance."""
        return abs(self.value - self.law.value) <= self.law.tolerance


@dataclass(frozen=True)
class Breakdown:
    """Where a law ends: `factor` is the median error over what the fitted line would give there."""

    experiment: str
    configuration: str
    parameter: float
    factor: float
    samples: int

    @property
    def holds(self) -> bool:
        """Whether the error has left the line."""
        return self.factor > BREAKDOWN_FACTOR


def slope_results(records: Source) -> list[SlopeResult]:
    """Every law of `published.SLOPES`, measured."""
    swept = _both_sweeps(records)
    results = []
    for law in published.SLOPES:
        sweep = swept[law.experiment].get(law.configuration, EMPTY_SWEEP)
        part = sweep.between(law.low, law.high)
        complete = part.parameters.size == round(np.log10(law.high / law.low)) + 1
        samples = int(part.samples.min()) if complete else 0
        results.append(SlopeResult(law, part.slope(), part.line()[0], samples))
    return results


def breakdowns(records: Source) -> list[Breakdown]:
    """Every end of a law in `published.BREAKDOWNS`, measured."""
    laws = {(law.experiment, law.configuration): law for law in published.SLOPES}
    swept = _both_sweeps(records)
    results = []
    for experiment, configuration, parameter in published.BREAKDOWNS:
        sweep = swept[experiment].get(configuration, EMPTY_SWEEP)
        law = laws[experiment, configuration]
        slope, offset = sweep.between(law.low, law.high).line()
        point = sweep.between(parameter, parameter)
        if point.parameters.size == 0:
            results.append(Breakdown(experiment, configuration, parameter, np.nan, 0))
            continue
        factor = float(point.medians[0]) / 10.0 ** (offset + slope * np.log10(parameter))
        results.append(Breakdown(experiment, configuration, parameter, factor, int(point.samples[0])))
    return results
