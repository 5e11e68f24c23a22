"""Records: one JSON line per solve, appended and flushed, so that a stopped run can go on."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

KEY = ("problem", "variant", "solver", "repetition", "version")


def key(record: dict[str, Any]) -> tuple:
    """What makes a solve the same solve."""
    return tuple(record[name] for name in KEY)


def read(path: Path) -> list[dict[str, Any]]:
    """All records of a file without a torn last line, left by a killed run.

    A torn line anywhere else is not our doing, and an error.
    """
    return list(_parse(path, _whole_lines(path)))


@contextmanager
def writing(path: Path) -> Iterator[list[dict[str, Any]]]:
    """All records of a file that is going to grow, for the only one who writes it until the block ends.

    A torn last line is cut off the file: what another run is just writing looks like one, so there must be
    no other. SQLite keeps the lock, on any platform, and drops it when the process dies.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path.with_suffix(".lock"), timeout=0.0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise ValueError(f"{path}: another run is writing it; wait for it, or choose --records") from None
        lines = _whole_lines(path)
        if path.exists():
            os.truncate(path, sum(map(len, lines)))
        yield list(_parse(path, lines))


def _whole_lines(path: Path) -> list[bytes]:
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    if lines and not (lines[-1].endswith(b"\n") and _is_json(lines[-1])):
        lines.pop()
    return lines


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _parse(path: Path, lines: list[bytes]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: not a record ({error})") from None


def append(path: Path, record: dict[str, Any]) -> None:
    """Add one record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
        file.flush()
