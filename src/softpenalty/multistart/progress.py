"""Progress of a search, as that of a solve: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

from typing import Any

from ..solve.progress import Progress
from ..types import Array
from .result import SearchResult

__all__ = ["SearchProgress"]


class SearchProgress(Progress):
    """A line a finished start, whose row holds the `SearchResult` so far."""

    def line(self, x: Array, row: dict[str, Any]) -> str:
        """What is shown of a search."""
        result: SearchResult = row["result"]
        return result.summary()
