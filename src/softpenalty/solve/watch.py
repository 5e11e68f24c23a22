"""What goes on during a solve: the history, the user's callback, the limits, and the best point."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from ..types import Array
from .result import History, Result
from .status import Status

__all__ = ["Row", "StopError", "Watch", "made", "read_callback"]

Tell = Callable[[Result], bool]  # what a callback has become: True stops
Row = dict[str, Any] | tuple[Any, ...]  # of the history; a tuple of `nit`, and of what makes the row of what


class StopError(Exception):
    """A limit was reached, or the user wants to stop, in the middle of an iteration."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class Watch:
    """Sees every iteration of a solve and says when it has to end.

    Parameters
    ----------
    iterations, evaluations, seconds : what the user allows
    evaluated : how many evaluations were made so far
    tell : the user's callback, made by `read_callback`
    """

    def __init__(
        self,
        iterations: int,
        evaluations: float,
        seconds: float,
        evaluated: Callable[[], int],
        tell: Tell | None = None,
    ) -> None:
        self.iterations, self.evaluations, self.evaluated, self.tell = (
            iterations,
            evaluations,
            evaluated,
            tell,
        )
        self.deadline = time.perf_counter() + seconds  #: reading of the clock at which the time is up
        self.rows: list[Row] = []
        self.best: Any = None  #: what a method has kept as its best
        self._rank: Any = None
        self.show: Callable[[Array, dict[str, Any]], None] | None = None  #: shows the user every iteration

    def see(self, x: Array, row: Row) -> Status | None:
        """Take in an iteration at x (n,) and tell the user; the reason to stop, if there is one."""
        self.rows.append(row)
        if self.show is not None or self.tell is not None:
            shown = made(row)
            if self.show is not None:
                self.show(x, shown)
            if self.tell is not None and self.tell(Result(x=x.copy(), **shown)):
                return Status.CALLBACK
        return self.reached(_number(row))

    @property
    def last(self) -> int:
        """The number of the last iteration seen, −1 without any."""
        return _number(self.rows[-1]) if self.rows else -1

    def history(self) -> History:
        """All iterations."""
        return History(map(made, self.rows))

    def keep(self, candidate: Any, rank: Any) -> None:
        """Make ``candidate`` the best if its ``rank`` is lower than that of all before it."""
        if self._rank is None or rank < self._rank:
            self.best, self._rank = candidate, rank

    @property
    def limited(self) -> bool:
        """Whether evaluations or time are limited."""
        return self.evaluations < math.inf or self.deadline < math.inf

    def allow(self, points: int) -> None:
        """Raise StopError unless so many more points may be evaluated, and time is left."""
        if self.evaluated() + points > self.evaluations:
            raise StopError(Status.EVALUATION_LIMIT)
        if time.perf_counter() >= self.deadline:
            raise StopError(Status.TIME_LIMIT)

    def reached(self, iterations: int) -> Status | None:
        """The status of the first limit that is reached, if any."""
        if iterations >= self.iterations:
            return Status.ITERATION_LIMIT
        if self.evaluations < math.inf and self.evaluated() >= self.evaluations:
            return Status.EVALUATION_LIMIT
        if self.deadline < math.inf and time.perf_counter() >= self.deadline:
            return Status.TIME_LIMIT
        return None


def made(row: Row) -> dict[str, Any]:
    """The row of the history as it is shown."""
    finished: dict[str, Any] = row if isinstance(row, dict) else row[1](row[0], *row[2:])
    return finished


def _number(row: Row) -> int:
    number: int = row["nit"] if isinstance(row, dict) else row[0]
    return number


def read_callback(callback: Callable[..., Any] | None) -> Tell | None:
    """A function of the intermediate result that says whether to stop, from any of SciPy's forms."""
    if callback is None:
        return None
    if not callable(callback):
        raise TypeError(f"`minimize(callback=...)` must be callable or None; got {callback!r}.")
    try:
        parameters = inspect.signature(callback).parameters
    except (TypeError, ValueError):  # builtins without a signature
        parameters = MappingProxyType({})
    by_name = "intermediate_result" in parameters
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters.values() if p.kind in positional and p.default is p.empty]

    def tell(result: Result) -> bool:
        try:
            if by_name:
                callback(intermediate_result=result)
            elif len(required) == 2:  # the form of "trust-constr", which stops where it returns True
                return bool(callback(result.x, result))
            else:
                callback(result.x)
        except StopIteration:
            return True
        return False

    return tell
