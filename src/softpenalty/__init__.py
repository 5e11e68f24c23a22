"""Constrained optimization with smooth penalty functions.

`minimize` solves a constrained problem; `search` looks for the best of its minima; `penalize` turns one into
a function for any other optimizer; `predicted_error` and `recommend` say which error a penalty leaves and
which parameters to choose.

The names below are imported when they are first used, so ``import softpenalty`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .core import show_config as show_config
    from .formulas.combinations import COMBINATIONS as COMBINATIONS
    from .formulas.kernels import KERNELS as KERNELS
    from .formulas.operators import OPERATORS as OPERATORS
    from .formulas.operators import penalty_function as penalty_function
    from .formulas.operators import penalty_slope as penalty_slope
    from .formulas.prediction import predicted_error as predicted_error
    from .formulas.prediction import recommend as recommend
    from .multistart.search import search as search
    from .problem.constraint import Constraint as Constraint
    from .problem.penalty import Penalty as Penalty
    from .problem.penalty import penalize as penalize
    from .problem.shared import shared as shared
    from .solve.minimize import minimize as minimize
    from .solve.options import Options as Options
    from .solve.result import Result as Result

_HOMES = {
    "show_config": "core",
    "COMBINATIONS": "formulas.combinations",
    "KERNELS": "formulas.kernels",
    "OPERATORS": "formulas.operators",
    "penalty_function": "formulas.operators",
    "penalty_slope": "formulas.operators",
    "predicted_error": "formulas.prediction",
    "recommend": "formulas.prediction",
    "Constraint": "problem.constraint",
    "Penalty": "problem.penalty",
    "penalize": "problem.penalty",
    "shared": "problem.shared",
    "search": "multistart.search",
    "minimize": "solve.minimize",
    "Options": "solve.options",
    "Result": "solve.result",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'softpenalty' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"softpenalty.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
