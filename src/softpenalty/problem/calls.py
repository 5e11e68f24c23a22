"""Asking the user's functions: counted, within limits, many points at once, failures forgiven, answers kept.

Everything that is asked of them passes through here, whether for values or for derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..types import Array
from .functions import MISTAKES, Failure, Functions, Sample
from .returned import finite_parts, joined

__all__ = ["Calls", "Journal", "NotFiniteError"]

Map = Callable[[Callable[[Array], Any], Iterable[Array]], Iterable[Any]]
SHOWN_VARIABLES = 6  # of x in the message of a failure


class Journal(Protocol):
    """Answers of an earlier run, and where those of this one are kept."""

    def find(self, question: str, x: Array) -> list[Any] | Failure | None: ...
    def add(self, question: str, x: Array, answer: list[Any] | Failure) -> None: ...


class NotFiniteError(ArithmeticError):
    """A function returned NaN or infinity where that is not to be forgiven."""


class Calls:
    """Who asks the functions.

    Parameters
    ----------
    functions : Functions
    forgiving : whether an exception counts as a failed point, with values NaN; mistakes never do
    strict : whether NaN and infinity raise an exception too

    Attributes
    ----------
    map : applies a function to many points at once; the built-in one unless there are workers
    alone : likewise for a single point, which need not go to another process
    guard : told how many points are about to be evaluated, 0 for derivatives; it raises to stop the search
    journal : answers for what is known already and keeps what is new
    record : what was answered at every point, by its bytes, where somebody wants to have it: no point is then
        asked for twice. For objectives without a gradient of their own.
    points : at which the functions were called, those of differences included
    failures : points at which one of them failed
    messages : kind of failure → the first message of that kind
    """

    def __init__(self, functions: Functions, forgiving: bool = False, strict: bool = False) -> None:
        self.functions, self.forgiving, self.strict = functions, forgiving, strict
        self.map: Map = map
        self.alone: Map = map
        self.guard: Callable[[int], None] | None = None
        self.journal: Journal | None = None
        self.record: dict[bytes, list[Array]] | None = None
        self.points = self.failures = 0
        self.messages: dict[str, str] = {}
        self.last_failure: Exception | None = None

    @cached_property
    def everything(self) -> Sample:
        """All functions, as they are asked together."""
        return Sample(self.functions)

    def sample(self, sample: Sample, points: list[Array]) -> list[list[Array] | None]:
        """What the functions of `sample` return at some points (n,), None where one of them failed."""
        if self.record is None or not sample.complete:
            return self._asked(sample, points)
        new = [x for x in points if x.tobytes() not in self.record]
        for x, parts in zip(new, self._asked(sample, new) if new else [], strict=True):
            if parts is not None:
                self.record[x.tobytes()] = parts
        return [self.record.get(x.tobytes()) for x in points]

    def values(self, x: Array) -> tuple[float, Array, list[int], Array | None] | None:
        """Objective, values (k,), their numbers, and the gradient if it comes along; None for a failure."""
        plain = self.record is None and self.journal is None and self.alone is map
        if not plain or self.functions.both:
            (parts,) = self.sample(self.everything, [x])
            if parts is None:
                return None
            gradient = parts.pop() if self.functions.both else None
            return *joined(parts), gradient
        if self.guard is not None:
            self.guard(1)
        try:
            objective, values, sizes, finite = self.functions.values_together(x)
        except Exception as error:
            self.points += 1
            self.forgive(error, x)
            return None
        self.points += 1
        if not finite:
            self._not_finite(np.append(objective, values), x)
        return objective, values, sizes, None

    def recorded(self) -> list[tuple[Array, Array]]:
        """Every point (n,) of the record with objective and values (1 + k,), in order."""
        return [(np.frombuffer(x), np.concatenate(parts)) for x, parts in (self.record or {}).items()]

    def _asked(self, sample: Sample, points: list[Array]) -> list[list[Array] | None]:
        self._allow(len(points))
        answers: list[list[Array] | None] = []
        for x, answer in zip(points, self._answers(sample, points), strict=True):
            if answers:
                self._allow(0)  # the time may be up between two of them
            self.points += 1
            answers.append(self._accepted(answer, x))
        return answers

    def derivatives(self, x: Array, sizes: list[int]) -> tuple[Array, Any] | None:
        """Gradient (n,) and Jacobian (k, n) where all are given and none is kept; None where one failed."""
        if self.guard is not None:
            self.guard(0)
        try:
            return self.functions.derivatives(x, sizes)
        except Exception as error:
            self.forgive(error, x)
            return None

    def derivative(self, question: str, x: Array, compute: Callable[[], Any], *more: Array) -> Any:
        """What `compute` returns, None where it failed; `more` is what the question depends on beside x."""
        self._allow(0)
        at = x if self.journal is None else np.concatenate([x, *more])
        known = None if self.journal is None else self.journal.find(question, at)
        if known is None:
            try:
                known = [compute()]
            except Exception as error:
                known = Failure(error)
            if self.journal is not None:
                self._keep(question, at, known)
        if isinstance(known, Failure):
            self.forgive(known.error, x)
            return None
        return known[0]

    def _answers(self, sample: Sample, points: list[Array]) -> Iterator[list[Array] | Failure]:
        """Answers one by one, in order: those known, and those that come from the functions."""
        journal, question = self.journal, sample.question
        known = [None if journal is None else journal.find(question, x) for x in points]
        missing = [x for x, answer in zip(points, known, strict=True) if answer is None]
        answered = (self.alone if len(missing) == 1 else self.map)(sample, missing)
        new = _iterated(answered)
        for x, found in zip(points, known, strict=True):
            answer: Any = found
            if answer is None:
                answer = next(new, None)
                if hasattr(answer, "result"):  # a future
                    answer = answer.result()
                if not isinstance(answer, (list, Failure)):
                    raise _no_map(answer)
                self._keep(question, x, answer)
            yield answer

    def _keep(self, question: str, x: Array, answer: list[Any] | Failure) -> None:
        mistake = isinstance(answer, Failure) and isinstance(answer.error, MISTAKES)
        if self.journal is not None and not mistake:
            self.journal.add(question, x, answer)

    def _accepted(self, answer: list[Array] | Failure, x: Array) -> list[Array] | None:
        if isinstance(answer, Failure):
            self.forgive(answer.error, x)
            return None
        if not finite_parts(answer):
            self._not_finite(np.concatenate(answer), x)
        return answer

    def _not_finite(self, values: Array, x: Array) -> None:
        message = f"a function returned {values[~np.isfinite(values)][0]}"
        if self.strict:
            raise NotFiniteError(f"`{self.functions.call}`: {message} at x = {_shown(x)}.")
        self._count("not finite", message, x)

    def forgive(self, error: Exception, x: Array) -> None:
        """Count the failure at x, or pass it on."""
        if not self.forgiving or isinstance(error, MISTAKES):
            raise error
        self.last_failure = error
        kind = getattr(error, "kind", type(error).__name__)
        self._count(kind, str(error) or kind, x)

    def _count(self, kind: str, message: str, x: Array) -> None:
        self.failures += 1
        if kind not in self.messages:
            self.messages[kind] = f"{message} (at x = {_shown(x)})"

    def _allow(self, points: int) -> None:
        if self.guard is not None:
            self.guard(points)


def _iterated(answers: Any) -> Iterator[Any]:
    try:
        return iter(answers)
    except TypeError:
        raise _no_map(answers) from None


def _no_map(answer: Any) -> TypeError:
    return TypeError(
        "`minimize(workers=...)` must return what the function it is given returns at each point, in order, "
        f"as the built-in `map` does; got {answer!r}."
    )


def _shown(x: Array) -> str:
    shown = ", ".join(f"{value:.6g}" for value in x[:SHOWN_VARIABLES])
    return f"[{shown}{', ...' if x.size > SHOWN_VARIABLES else ''}]"
