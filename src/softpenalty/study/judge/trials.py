"""Trials as columns, and how they are split into cells."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]
"""Arrays of equal length by name, an entry a trial; the names are the fields of `records.Trial`."""

COLUMN_OF = {"error": "distance", "iterations": "iterations"}
"""The column of each quantity of the paper's table."""


def group_by(columns: Columns, *names: str) -> dict[tuple[Any, ...], Columns]:
    """Split columns into groups of rows that agree in `names`; keys are tuples of Python values."""
    rows: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(zip(*(columns[name].tolist() for name in names), strict=True)):
        rows.setdefault(key, []).append(row)
    return {key: {name: column[index] for name, column in columns.items()} for key, index in rows.items()}
