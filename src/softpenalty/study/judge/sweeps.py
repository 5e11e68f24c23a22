"""The sweeps over sigma and alpha: their slopes, and where a law ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ...types import Array
from ..design import published
from ..design.published import Slope
from .trials import Columns, group_by

BREAKDOWN_FACTOR = 3.0  # the points on a line scatter by a few percent, a broken one lies far off


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

    parameters: Array
    medians: Array
    samples: NDArray[np.int64]
    errors: Array

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

    def local_slopes(self) -> Array:
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


def _median_slope(parameters: Array, errors: Array) -> float:
    usable = (np.isfinite(errors) & (errors > 0.0)).all(axis=0)
    if parameters.size < 2 or not usable.any():
        return np.nan
    centred = np.log10(parameters) - np.mean(np.log10(parameters))
    slopes = centred @ np.log10(errors[:, usable]) / (centred @ centred)
    return float(np.median(slopes))


Swept = Mapping[str, Mapping[str, Sweep]]
"""Sweeps by experiment (``"sigma"``, ``"alpha"``) and configuration."""


def sweeps(trials: Columns, parameter: str) -> dict[str, Sweep]:
    """The sweep of each configuration in the trials of the experiment that is named after its parameter."""
    return {
        configuration: _sweep(own, parameter)
        for (configuration,), own in group_by(trials, "configuration").items()
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


def slope_results(swept: Swept) -> list[SlopeResult]:
    """Every law of `published.SLOPES`, measured."""
    results = []
    for law in published.SLOPES:
        sweep = swept[law.experiment].get(law.configuration, EMPTY_SWEEP)
        part = sweep.between(law.low, law.high)
        complete = part.parameters.size == round(np.log10(law.high / law.low)) + 1
        samples = int(part.samples.min()) if complete else 0
        results.append(SlopeResult(law, part.slope(), part.line()[0], samples))
    return results


def breakdowns(swept: Swept) -> list[Breakdown]:
    """Every end of a law in `published.BREAKDOWNS`, measured."""
    laws = {(law.experiment, law.configuration): law for law in published.SLOPES}
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
