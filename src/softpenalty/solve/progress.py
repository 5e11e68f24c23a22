"""How a solve goes, on standard error: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

import numpy as np

from ..problem.canonical import Rows, stack_rows
from ..problem.evaluation import Evaluation
from ..types import Array

__all__ = ["Progress"]

PLAIN_EVERY = 1.0  # seconds between two plain lines, so that a log stays readable


class Progress:
    """A line an iteration, as a context.

    Parameters
    ----------
    evaluation : whose points are counted
    stream : where to write; standard error unless given
    """

    def __init__(self, evaluation: Evaluation, stream: TextIO | None = None) -> None:
        self.evaluation = evaluation
        self._rows: Rows | None = None  # stacked when a constraint is to be named for the first time
        self._stream = sys.stderr if stream is None else stream
        self._begun = time.monotonic()
        self._written = -np.inf
        self._last = ""
        self._live: Any = None

    def __enter__(self) -> Progress:
        if self._stream.isatty():
            try:
                from rich.console import Console
                from rich.live import Live
            except ImportError:
                return self
            console = Console(file=self._stream)
            self._live = Live("", console=console, refresh_per_second=8, redirect_stdout=False)
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._last:
            self._stream.write(self._last + "\n")

    def __call__(self, x: Array, row: dict[str, Any]) -> None:
        """Show an iteration at x (n,)."""
        line = self.line(x, row)
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"))
            return
        now = time.monotonic()
        if now - self._written >= PLAIN_EVERY:
            self._written, self._last = now, ""
            self._stream.write(line + "\n")
            self._stream.flush()
        else:
            self._last = line  # the last one is written at the end in any case

    def line(self, x: Array, row: dict[str, Any]) -> str:
        """What is shown of an iteration."""
        parts = [f"iteration {row['nit']}", f"objective {row['fun']:.6g}", self._worst(x, row["maxcv"])]
        parts += [f"stationarity {row['stationarity']:.1e}"] if "stationarity" in row else []
        parts += [f"{self.evaluation.nfev} evaluations", f"{time.monotonic() - self._begun:.1f} s"]
        return " · ".join(parts)

    def _worst(self, x: Array, violation: float) -> str:
        if violation <= 0.0 or not self.evaluation.blocks:
            return "feasible" if violation <= 0.0 else f"violation {violation:.1e}"
        _, values = self.evaluation.values(x)
        if self._rows is None:
            self._rows = stack_rows("minimize", self.evaluation.blocks, self.evaluation.sizes or [])
        violations = self._rows.violations(self._rows.errors(values))
        return f"{self._rows.labels[int(np.argmax(violations))]} violated by {violation:.1e}"
