"""What the records say: trials, medians, sweeps and their agreement with the paper, each computed once.

Tables, figures, the check, claims and findings are all made from these.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..design import published
from ..design.experiments import LABELS
from ..records import Records
from .agreement import Agreement
from .sweeps import Breakdown, SlopeResult, Sweep, breakdowns, slope_results, sweeps
from .table import Entry, table_agreement, table_entries
from .trials import COLUMN_OF, Columns, group_by


class MissingRecordsError(LookupError):
    """The records lack what a claim or finding needs; the message names it."""


class Facts:
    """A study as it is on file now; a run that goes on does not change it.

    Parameters
    ----------
    records : Records
        Records of a study, complete or not.
    """

    def __init__(self, records: Records) -> None:
        self.meta: dict[str, str] = records.meta
        self.columns: Columns = records.select()

    def __len__(self) -> int:
        return int(self.columns["problem"].size)

    @cached_property
    def experiments(self) -> dict[str, Columns]:
        """Trials by experiment, for those that have any."""
        return {key[0]: part for key, part in group_by(self.columns, "experiment").items()}

    def experiment(self, name: str) -> Columns:
        """Trials of one experiment, perhaps none."""
        return self.experiments.get(name, {name: column[:0] for name, column in self.columns.items()})

    @cached_property
    def cells(self) -> dict[tuple[str, str, int, str], Columns]:
        """Trials by (experiment, kind, dimension, configuration); those of a sweep stand together."""
        return group_by(self.columns, "experiment", "kind", "dimension", "configuration")

    # ------------------------------------------------------------------------------- beside the paper

    @cached_property
    def _table_cells(self) -> dict[tuple[str, int, str], Columns]:
        return {(kind, n, c): cell for (e, kind, n, c), cell in self.cells.items() if e == kind}

    @cached_property
    def entries(self) -> list[Entry]:
        """The 128 figures of the paper's table."""
        return table_entries(self._table_cells)

    @cached_property
    def agreement(self) -> Agreement | None:
        """Whether chance explains how far these lie from the published ones; None without any."""
        return table_agreement(self._table_cells, self.entries)

    @cached_property
    def sweeps(self) -> dict[str, dict[str, Sweep]]:
        """Sweeps by experiment and configuration."""
        return {name: sweeps(self.experiment(name), name) for name in ("sigma", "alpha")}

    @cached_property
    def slopes(self) -> list[SlopeResult]:
        """Every law of the sweeps."""
        return slope_results(self.sweeps)

    @cached_property
    def breakdowns(self) -> list[Breakdown]:
        """Every end of a law."""
        return breakdowns(self.sweeps)

    # ------------------------------------------------------- what may be missing: `MissingRecordsError`

    def trials(self, experiment: str, kind: str, dimension: int, configuration: str) -> Columns:
        """Trials of one cell."""
        cell = self.cells.get((experiment, kind, dimension, configuration))
        if cell is None:
            raise MissingRecordsError(f"{LABELS[configuration]} at N = {dimension} of “{experiment}”")
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

    def sweep(self, experiment: str, configuration: str) -> Sweep:
        """Sweep of one configuration."""
        sweep = self.sweeps[experiment].get(configuration)
        if sweep is None or sweep.parameters.size < 2:
            raise MissingRecordsError(f"the sweep of {experiment} with {LABELS[configuration]}")
        return sweep

    def sweep_trials(self, experiment: str, parameter: float) -> dict[str, Columns]:
        """Trials of a sweep at one value of its parameter, by configuration."""
        columns = self.experiment(experiment)
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
