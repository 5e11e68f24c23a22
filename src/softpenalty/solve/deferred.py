"""A result some of whose fields are made when somebody looks at them, or at all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import scipy.optimize

__all__ = ["DeferredResult"]

LOOKS = (
    "__contains__", "__eq__", "__iter__", "__len__", "__ne__", "__or__", "__reduce_ex__", "__reversed__",
    "__ror__", "copy", "get", "items", "keys", "pop", "popitem", "setdefault", "values",
)  # fmt: skip


class DeferredResult(scipy.optimize.OptimizeResult):
    """SciPy's result, a dict with attributes; `defer` says what else belongs to it.

    Nobody can tell when a field was made: whatever looks at the dict as a whole makes all of them first.
    """

    if TYPE_CHECKING:  # a dict takes its entries as keywords; stubs of SciPy's do not know

        def __init__(self, **fields: Any) -> None: ...

    def defer(self, make: Callable[[], dict[str, Any]]) -> None:
        """Add the fields that `make` returns, none of which is there yet, when they are wanted."""
        self.__dict__["_make"] = make

    def _complete(self) -> None:
        make = self.__dict__.pop("_make", None)
        if make is not None:
            self.update(make())

    def __missing__(self, key: str) -> Any:
        if "_make" not in self.__dict__:
            raise KeyError(key)
        self._complete()
        return self[key]


def _looking(name: str) -> Callable[..., Any]:
    of_dict = getattr(dict, name)

    def look(self: DeferredResult, *arguments: Any) -> Any:
        self._complete()
        return of_dict(self, *arguments)

    look.__name__, look.__doc__ = name, of_dict.__doc__
    return look


for _name in LOOKS:
    setattr(DeferredResult, _name, _looking(_name))
