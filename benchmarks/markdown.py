"""Tables of the pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any


def table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table; columns of numbers are aligned on the right."""
    header = list(header)
    lines = [[str(cell) for cell in row] for row in rows]
    numeric = [all(re.match(r"[-+\d–]", cell) for cell in column) for column in zip(*lines, strict=True)]
    rule = ["--:" if right else "---" for right in numeric] or ["---"] * len(header)
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])
