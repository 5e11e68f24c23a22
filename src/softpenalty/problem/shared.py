"""One simulation that gives the objective and the constraints, run once per point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..types import Array

__all__ = ["Shared", "shared"]

REMEMBERED_POINTS = 8  # results may be large; an optimizer goes back a few points at most


class Shared:
    """A function of x that remembers its last results. Made by `shared`."""

    def __init__(self, simulate: Callable[..., Any]) -> None:
        if not callable(simulate):
            raise TypeError(f"`shared(simulate=...)` must be callable; got {simulate!r}.")
        self.simulate = simulate
        self.calls = 0  #: how often the simulation was run
        self._results: dict[bytes, Any] = {}

    def __call__(self, x: Any) -> Any:
        """Return ``simulate(x)``, run anew only where x is not among the last points."""
        point: Array = np.asarray(x)
        key = point.dtype.char.encode() + point.tobytes()
        if key not in self._results:
            self.calls += 1
            result = _copied(self.simulate(point.copy()))
            while len(self._results) >= REMEMBERED_POINTS:
                del self._results[next(iter(self._results))]
            self._results[key] = result
        return self._results[key]

    def __getitem__(self, part: Any) -> Callable[..., Any]:
        """Return the function of x for one part of the result: a key of a dict, an index of a tuple."""
        return Part(self, part)


@dataclass(frozen=True)
class Part:
    """One part of a shared result, as a function of x."""

    whole: Shared
    part: Any

    def __call__(self, x: Any) -> Any:
        result = self.whole(x)
        try:
            return result[self.part]
        except (LookupError, TypeError) as error:
            parts = f"the parts {list(result)!r}" if isinstance(result, dict) else repr(result)
            raise ValueError(
                f"`shared(simulate)[{self.part!r}]`: there is no such part; the simulation returned {parts}."
            ) from error


def _copied(result: Any) -> Any:
    """Return `result` with its arrays copied: a simulation may use them again for the next point."""
    if isinstance(result, np.ndarray):
        return result.copy()
    if type(result) in (list, tuple):
        return type(result)(map(_copied, result))
    if type(result) is dict:
        return {part: _copied(value) for part, value in result.items()}
    return result


def shared(simulate: Callable[..., Any]) -> Shared:
    """Return `simulate` as a source of several functions of x that share each run.

    Parameters
    ----------
    simulate : callable
        ``simulate(x)`` returns a dict, a tuple or anything else that is indexed by its parts.

    Examples
    --------
    >>> def simulate(x):
    ...     return {"mass": x[0] * x[1], "stress": 10.0 / x[0] ** 2}
    >>> beam = shared(simulate)
    >>> mass, stress = beam["mass"], beam["stress"]
    >>> mass([2.0, 3.0]), stress([2.0, 3.0])
    (np.float64(6.0), np.float64(2.5))
    >>> beam.calls
    1

    Then ``minimize(beam["mass"], x0, constraints=Constraint(beam["stress"], "<", 1.0))`` runs the simulation
    once at every point, those of differences included.
    """
    return Shared(simulate)
