"""A journal of all that the user's functions have answered, on file: whoever reads it repeats nothing.

The algorithms are deterministic. So a run that finds its answers in the journal goes the same way as the run
that wrote it, up to where that one ended, and then on; no state of any algorithm needs to be kept. A line is
written when an answer arrives, in one piece: whatever happens, at most the answers in flight are lost, and a
last line that was cut off is dropped. The file is lines of JSON; nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..types import Array
from .functions import Failure

__all__ = ["Checkpoint", "RecordedError", "fingerprint"]

FORMAT, VERSION = "softpenalty checkpoint", 1


class RecordedError(RuntimeError):
    """A failure that was read from a checkpoint."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Checkpoint:
    """Answers by question and point, kept in a file.

    Parameters
    ----------
    path : where; a folder gets a file "checkpoint.jsonl" in it
    problem : what tells this problem from others, of plain data
    resume : whether to go on from a file that exists

    Raises
    ------
    ValueError
        When the file belongs to another problem or is none of ours, and when it exists but `resume` is False;
        the file stays as it was.
    """

    def __init__(self, path: str | os.PathLike[str], problem: dict[str, Any], resume: bool) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            self.path /= "checkpoint.jsonl"
        header = {"format": FORMAT, "version": VERSION, "problem": json.loads(json.dumps(problem))}
        self._answers: dict[tuple[str, bytes], list[Any] | Failure] = {}
        whole = 0
        if self.path.exists() and self.path.stat().st_size:
            if not resume:
                raise ValueError(
                    f"`minimize(checkpoint=...)`: {str(self.path)!r} exists. Pass resume=True to go on from "
                    "it, or another name, or delete it."
                )
            whole = self._read(header)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("r+b" if whole else "wb")
        self._file.truncate(whole)
        self._file.seek(whole)
        if not whole:
            self._write(header)

    @property
    def known(self) -> int:
        """Number of answers on file."""
        return len(self._answers)

    def find(self, question: str, x: Array) -> list[Any] | Failure | None:
        """The answer at x, None where there is none."""
        return self._answers.get((question, _key(x)))

    def add(self, question: str, x: Array, answer: list[Any] | Failure) -> None:
        """Keep an answer."""
        if isinstance(answer, Failure):
            error = answer.error
            line: dict[str, Any] = {"failed": [getattr(error, "kind", type(error).__name__), str(error)]}
        else:
            line = {"answer": [_encoded(part) for part in answer]}
        self._write({"ask": question, "x": _encoded(x), **line})

    def close(self) -> None:
        """Let go of the file, with everything on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, allow_nan=False).encode() + b"\n")
        self._file.flush()

    def _read(self, header: dict[str, Any]) -> int:
        """Take in a file of this problem; the number of its bytes that are whole lines."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if not whole and json.dumps(header).encode().startswith(content):
            return 0  # cut off within its first line: nothing was answered yet
        where = f"`minimize(checkpoint=...)`: {str(self.path)!r}"
        first, *rest = content[:whole].splitlines() or [b""]
        try:
            theirs = json.loads(first)
            ours = theirs["format"] == FORMAT
        except (ValueError, KeyError, TypeError):
            ours = False
        if not ours:
            raise ValueError(f"{where} is not a checkpoint. Nothing was changed.")
        if theirs.get("version") != VERSION:
            raise ValueError(
                f"{where} is of version {theirs.get('version')!r}; this softpenalty reads version {VERSION}."
            )
        for what, here in header["problem"].items():
            there = theirs.get("problem", {}).get(what)
            if there != here:
                raise ValueError(
                    f"{where} belongs to another problem: its {what} is {_shortened(there)}, here it is "
                    f"{_shortened(here)}. Use another name, or delete it."
                )
        try:
            for line in rest:
                self._take(json.loads(line))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{where} is damaged ({error!r}). Nothing was changed.") from error
        return whole

    def _take(self, line: dict[str, Any]) -> None:
        answer: list[Any] | Failure
        if "failed" in line:
            kind, message = map(str, line["failed"])
            answer = Failure(RecordedError(kind, message))
        else:
            answer = [_decoded(part) for part in line["answer"]]
        self._answers[str(line["ask"]), _key(_decoded(line["x"]))] = answer


def _key(x: Array) -> bytes:
    return x.dtype.char.encode() + x.tobytes()


def _encoded(array: Any) -> dict[str, Any]:
    """Plain data of a dense or sparse array; numbers as text where JSON has no word for one of them."""
    if hasattr(array, "tocoo"):
        entries = array.tocoo()
        return {
            "shape": list(entries.shape),
            "row": entries.row.tolist(),
            "column": entries.col.tolist(),
            "entries": _encoded(entries.data),
        }
    array = np.asarray(array)
    if array.dtype.kind == "c":
        return {"real": _encoded(array.real), "imag": _encoded(array.imag)}
    numbers = array.astype(float).ravel().tolist()
    finite = bool(np.isfinite(array).all())
    return {"shape": list(array.shape), "numbers": numbers if finite else [repr(v) for v in numbers]}


def _decoded(data: dict[str, Any]) -> Any:
    if "entries" in data:
        from scipy.sparse import coo_array

        values = _decoded(data["entries"])
        return coo_array((values, (data["row"], data["column"])), shape=tuple(data["shape"])).tocsr()
    if "real" in data:
        return _decoded(data["real"]) + 1j * _decoded(data["imag"])
    return np.array([float(v) for v in data["numbers"]]).reshape(data["shape"])


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def fingerprint(*arrays: Array) -> str:
    """A short name for the exact numbers in some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
