"""A search on file: a line for the problem and one for each finished start, so that it can go on.

What a start has taught is in its line; the plan takes the lines in again, without computing anything. With
one worker the search goes on exactly as it would have without the interruption.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..problem.evaluation import Evaluation
from ..solve.result import History, Result
from .plan import Plan
from .samples import Samples
from .work import Answer

__all__ = ["Checkpoint"]

FORMAT = "softpenalty search 1"


class Checkpoint:
    """A file that follows a plan.

    Parameters
    ----------
    path : of the file, which grows
    plan : takes in what is on file
    evaluation : the functions, to see whether they are still the same
    resume : whether to go on from a file that exists
    """

    def __init__(self, path: Any, plan: Plan, evaluation: Evaluation, resume: bool) -> None:
        self.path = Path(path)
        header = {
            "format": FORMAT,
            "lower": plan.box.lower.tolist(),
            "upper": plan.box.upper.tolist(),
            "constraints": [block.name for block in evaluation.blocks],
        }
        lines = self._lines()
        if not lines:
            header["seed"] = plan.samples.seed
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(header) + "\n", encoding="utf-8")
            return
        if not resume:
            raise ValueError(
                f"`search(options={{'checkpoint': ...}})`: {str(self.path)!r} exists. Pass 'resume': True to "
                "go on from it, or another name, or delete it."
            )
        known, *starts = lines
        if {key: known.get(key) for key in header} != header:
            raise self._foreign()
        plan.samples = Samples(plan.box.free.size, known["seed"])
        for line in starts:
            plan.take(_answer(line["answer"]))
        if starts:
            plan.resume(starts[-1]["plan"])
        if len(plan.minima):
            best = plan.minima.best_first()[0]
            if not abs(evaluation.values(best.x)[0] - best.fun) <= plan.minima.resolution(best.fun):
                raise self._foreign()

    def _foreign(self) -> ValueError:
        return ValueError(
            f"`search(options={{'checkpoint': ...}})`: {str(self.path)!r} belongs to another problem; "
            "choose another file, or remove it to begin anew."
        )

    def _lines(self) -> list[dict[str, Any]]:
        """The lines on file; a last one that a kill has torn is cut off."""
        if not self.path.exists():
            return []
        whole = self.path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in kept.splitlines()]
        except ValueError:
            lines = [{}]
        if lines and lines[0].get("format") == FORMAT and len(kept) < len(whole):
            self.path.write_bytes(kept)
        return lines or ([{}] if whole else [])

    def append(self, answer: Answer, plan: Plan) -> None:
        """Write down a finished start that the plan has taken in."""
        line = {"answer": _plain(vars(answer)), "plan": plan.progress()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _plain(value: Any) -> Any:
    """`value` in the terms of JSON; what has none is left out."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if _sayable(v)}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "shape": value.shape}
    return value.item() if isinstance(value, np.generic) else value


def _sayable(value: Any) -> bool:
    kinds = (dict, list, tuple, np.ndarray, np.generic, str, int, float, type(None))
    return isinstance(value, kinds) and not isinstance(value, History)


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"array", "shape"}:
            return np.array(value["array"], dtype=float).reshape(value["shape"])
        return {k: _restored(v) for k, v in value.items()}
    return [_restored(v) for v in value] if isinstance(value, list) else value


def _answer(line: dict[str, Any]) -> Answer:
    fields = _restored(line)
    fields["result"] = Result(**fields["result"], history=History())
    return Answer(**fields)
