"""Which arithmetic runs: the compiled core, or the Python that reads as its definition.

A function, record or class marked ``@compiled`` has a twin of the same name and the same arguments in one of
the extension modules of this folder. The mark is the only place where one is put for the other, once, when it
is defined. The environment variable SOFTPENALTY_CORE chooses: "compiled" or "python"; unset, the core is used
where it was built.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

__all__ = ["REFERENCES", "compiled", "config", "show_config"]

VARIABLE = "SOFTPENALTY_CORE"
MODULES = (
    "ends", "records", "returned", "rows", "stopping", "iteration", "subproblem", "dual", "path", "curvature",
)  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])  # or a class

REFERENCES: dict[str, Callable[..., Any]] = {}  #: what is marked, by name, as they are written in Python


def compiled(function: Function) -> Function:
    """Put the compiled twin in the place of ``function`` where the core is in use."""
    name = function.__name__
    REFERENCES[name] = function
    for module in _core()[0]:
        if hasattr(module, name):
            twin: Function = getattr(module, name)
            return twin
    return function


def home(name: str) -> ModuleType:
    """The module in which what is marked is written in Python, with the constants that it uses."""
    return sys.modules[REFERENCES[name].__module__]


@functools.cache
def _core() -> tuple[list[ModuleType], str]:
    """The extension modules in use, none for plain Python, and the reason."""
    asked = os.environ.get(VARIABLE, "")
    if asked not in ("", "python", "compiled"):
        raise ValueError(
            f"The environment variable {VARIABLE} must be 'python' or 'compiled'; got {asked!r}."
        )
    if asked == "python":
        return [], f"{VARIABLE}=python"
    try:
        modules = [importlib.import_module(f"{__name__}.{name}") for name in MODULES]
    except ImportError as missing:
        if asked:
            raise ImportError(
                f"{VARIABLE}=compiled, but the compiled core was not built ({missing}): install softpenalty "
                "with a C compiler at hand, or run `make core` in its sources."
            ) from missing
        return [], f"the compiled core was not built ({missing})"
    return modules, f"{VARIABLE}=compiled" if asked else "it was built"


def config() -> dict[str, str]:
    """Which arithmetic is in use, "compiled" or "python", and why."""
    modules, reason = _core()
    return {"core": "compiled" if modules else "python", "because": reason}


def show_config() -> None:
    """Write which arithmetic is in use, and why, to standard output.

    Examples
    --------
    >>> import softpenalty
    >>> softpenalty.show_config()  # doctest: +ELLIPSIS
    softpenalty ...: arithmetic in ... because ...
    """
    from .. import __version__

    found = config()
    name = {"compiled": "the compiled core", "python": "Python and NumPy"}[found["core"]]
    sys.stdout.write(f"softpenalty {__version__}: arithmetic in {name}, because {found['because']}\n")
