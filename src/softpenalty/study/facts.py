"""Medians and samples that claims and findings are judged by, read from the records once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from softpenalty.study import published
from softpenalty.study.measured import COLUMN_OF, Columns, Source, Sweep, group_by, sweeps

_LABELS = published.LABELS


class MissingRecordsError(LookupError):
    """The records lack what a claim or finding needs; the message names it."""


class Facts:
    """Medians and samples of the records, read once; what is missing raises `MissingRecordsError`.

    Parameters
    ----------
    records : Records or Snapshot
        Trials of a study, complete or not.
    """

    def __init__(self, records: Source) -> None:
        self._records = records

    @cached_property
    def cells(self) -> dict[tuple[str, str, int, str], Columns]:
        """Trials of the experiments by dimension, by (experiment, kind, dimension, configuration)."""
        found: dict[tuple[str, str, int, str], Columns] = {}
        for experiment in ("planes", "spheres", "exact"):
            columns = self._records.select(experiment=experiment)
            found.update(group_by(columns, "experiment", "kind", "dimension", "configuration"))
        return found

    def trials(self, experiment: str, kind: str, dimension: int, configuration: str) -> Columns:
        """Trials of one cell."""
        cell = self.cells.get((experiment, kind, dimension, configuration))
        if cell is None:
            raise MissingRecordsError(f"{_LABELS[configuration]} at N = {dimension} of “{experiment}”")
        return cell

    def median(
        self, kind: str, dimension: int, configuration: str, quantity: str, experiment: str | None = None
    ) -> float:
        """Median of one cell; `experiment` defaults to the table's."""
        cell = self.trials(experiment or kind, kind, dimension, configuration)
        return float(np.median(cell[COLUMN_OF.get(quantity, quantity)]))

    def dimensions(self, experiment: str) -> list[int]:
        """Dimensions on record for all four configurations."""
        every = [
            {n for e, _, n, c in self.cells if e == experiment and c == configuration}
            for configuration in published.CONFIGURATIONS
        ]
        common = sorted(set.intersection(*every))
        if not common:
            raise MissingRecordsError(f"the experiment “{experiment}”")
        return common

    def factors(
        self, kind: str, quantity: str, experiment: str | None = None
    ) -> dict[tuple[int, str], float]:
        """Courant-Beltrami's median over that of each smooth configuration, by (dimension, configuration)."""
        return {
            (n, c): self.median(kind, n, published.COURANT_BELTRAMI, quantity, experiment)
            / self.median(kind, n, c, quantity, experiment)
            for n in self.dimensions(experiment or kind)
            for c in published.SMOOTH
        }

    @cached_property
    def _sweeps(self) -> dict[str, dict[str, Sweep]]:
        return {experiment: sweeps(self._records, experiment) for experiment in ("sigma", "alpha")}

    def sweep(self, experiment: str, configuration: str) -> Sweep:
        """Sweep of one configuration."""
        sweep = self._sweeps[experiment].get(configuration)
        if sweep is None or sweep.parameters.size < 2:
            raise MissingRecordsError(f"the sweep of {experiment} with {_LABELS[configuration]}")
        return sweep

    def sweep_trials(self, experiment: str, parameter: float) -> dict[str, Columns]:
        """Trials of a sweep at one value of its parameter, by configuration."""
        columns = self._records.select(experiment=experiment)
        near = np.isclose(columns[experiment], parameter, rtol=1e-6, atol=0.0)
        if not near.any():
            raise MissingRecordsError(f"{experiment} = {parameter:g} of its sweep")
        chosen = {name: column[near] for name, column in columns.items()}
        return {key[0]: cell for key, cell in group_by(chosen, "configuration").items()}

    def infeasible_shares(self) -> dict[int, float]:
        """Share of hyperplane problems without a feasible point, by dimension."""
        first = published.CONFIGURATIONS[0]  # all configurations share their problems
        return {
            n: 1.0 - float(np.mean(self.trials("planes", "planes", n, first)["feasible"]))
            for n in self.dimensions("planes")
        }
