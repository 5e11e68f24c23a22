"""Records: one JSON line per solve, appended and flushed, so that a stopped run can go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEY = ("problem", "variant", "solver", "repetition", "version")


def key(record: dict[str, Any]) -> tuple:
    """What makes a solve the same solve."""
    return tuple(record[name] for name in KEY)


def read(path: Path, *, repair: bool = False) -> list[dict[str, Any]]:
    """All records of a file without a torn last line, left by a killed run.

    With `repair` that line is cut off the file as well, so that it can grow again: for the one who is going
    to write, as another may just be writing. A torn line anywhere else is not our doing, and an error.
    """
    if not path.exists():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    if lines and not (lines[-1].endswith(b"\n") and _is_json(lines[-1])):
        torn = lines.pop()
        if repair:
            with path.open("r+b") as file:
                file.truncate(path.stat().st_size - len(torn))
    return list(_parse(path, lines))


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
