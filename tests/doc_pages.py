"""Pages in Markdown as programs: their Python runs block by block, and what they show is compared."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
NUMBER = r"[-+−±]?\d+(?:\.\d*)?(?:e[-+]?\d+)?"
TOKEN = re.compile(rf"{NUMBER}(?![\w.])|[^\W\d]+")
ELIDED = re.compile(r"^\.\.\.$", flags=re.MULTILINE)
RELATIVE = 0.05  # numbers shown are rounded, and differ in their last digits from one machine to the next
COUNTS = 0.25  # so do the evaluations that a solve takes
NOTHING = 1e-4  # what is left of an error: its size is an accident


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page at which the text begins."""

    language: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [Block(m[1], m[2], text[: m.start(2)].count("\n") + 1) for m in FENCE.finditer(text)]


def run(path: Path) -> tuple[dict[str, Any], str, list[tuple[Block, str]]]:
    """Run the Python of a page in one namespace.

    Returns the namespace, all that was printed, and for each block ``text`` that follows a Python block what
    was printed since the one before.
    """
    space: dict[str, Any] = {"__name__": "page"}
    printed, pending, shown = "", "", []
    before = ""
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language == "python":
            out = io.StringIO()
            source = "\n" * (block.line - 1) + block.text  # an exception names the line of the page
            with contextlib.redirect_stdout(out):
                exec(compile(source, str(path), "exec"), space)
            printed, pending = printed + out.getvalue(), pending + out.getvalue()
        elif block.language == "text" and before == "python":
            shown.append((block, pending))
            pending = ""
        before = block.language
    return space, printed, shown


def differences(shown: str, printed: str) -> list[str]:
    """What a page shows and its Python does not print; a line ``...`` stands for anything."""
    tokens = TOKEN.findall(printed)
    place, missing = 0, []
    parts = ELIDED.split(shown)
    for i, part in enumerate(parts):
        wanted = TOKEN.findall(part)
        last = len(tokens) - len(wanted)
        starts = range(place, last + 1) if i else [0]
        if i == len(parts) - 1 > 0 and wanted:
            starts = range(max(last, place), last + 1)
        found = next((s for s in starts if _equal(wanted, tokens[s : s + len(wanted)])), None)
        if found is None:
            missing.append(part.strip())
        else:
            place = found + len(wanted)
    if len(parts) == 1 and place != len(tokens):
        missing.append(f"(only a part of what is printed:) {shown}")
    return missing


def _equal(shown: list[str], printed: list[str]) -> bool:
    return len(shown) == len(printed) and all(map(_same, shown, printed))


def _same(shown: str, printed: str) -> bool:
    if shown == printed:
        return True
    try:
        a, b = (float(token.replace("−", "-").replace("±", "")) for token in (shown, printed))
    except ValueError:
        return False
    if abs(a) < NOTHING and abs(b) < NOTHING:
        return True
    relative = COUNTS if shown.isdigit() and printed.isdigit() else RELATIVE
    return abs(a - b) <= relative * max(abs(a), abs(b))
