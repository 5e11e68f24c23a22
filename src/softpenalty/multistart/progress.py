"""Progress for who asks for it: one line that changes on a terminal with rich, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .result import SearchResult

__all__ = ["showing"]


@contextmanager
def showing(wanted: bool) -> Iterator[Callable[[SearchResult], None]]:
    """A function that shows how far the search is, on standard error; one that does nothing if not wanted."""
    if not wanted:
        yield lambda result: None
        return
    try:
        from rich.console import Console
    except ImportError:
        console = None
    else:
        console = Console(stderr=True)
    if console is None or not console.is_terminal:
        yield lambda result: _write(f"{result.summary()}\n")
        return
    with console.status("searching") as status:
        yield lambda result: status.update(result.summary())


def _write(line: str) -> None:
    sys.stderr.write(line)
