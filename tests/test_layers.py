"""Imports point down only: extras ← formulas ← problem ← solve, training ← multistart, study ← cli."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import softpenalty

PACKAGE = Path(__file__).parents[1] / "src" / "softpenalty"
NAME = "softpenalty"
LEVELS = {
    "types": 0,
    "core": 0,
    "extras": 0,
    "explore": 0,
    "formulas": 1,
    "problem": 2,
    "solve": 3,
    "multistart": 4,
    "training": 3,
    "study": 4,
    "cli": 5,
}
ROOMS = {  # of the study: what each may import from it beside itself
    "files.py": set(),
    "records.py": {"files"},
    "design": set(),
    "compute": {"design", "records"},
    "judge": {"design", "records"},
    "show": {"design", "records", "judge", "files"},
}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def layer_of(module: tuple[str, ...]) -> str:
    return module[0].removesuffix(".py")


def imports(source: str, folder: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What a module in `folder` of the package imports from it, wherever in the file the import stands.

    Each is the path of a module or of a name in one, from the package on; names that the package lends from
    below (``from softpenalty import minimize``) count where they live.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                module = (NAME, *folder)[: len(folder) + 2 - node.level] + module
            found = [(*module, alias.name) for alias in node.names]
        else:
            continue
        for package, *path in found:
            if package == NAME and path:
                home = softpenalty._HOMES.get(path[0])
                yield tuple(home.split(".")) if home else tuple(path)


def upward(source: str, path: tuple[str, ...]) -> list[str]:
    """Layers above its own that the module at `path` imports, or that have no level."""
    own = layer_of(path)
    layers = {layer_of(found) for found in imports(source, path[:-1])} - {own, "__version__"}
    return sorted(layer for layer in layers if LEVELS.get(layer, 99) >= LEVELS[own])


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES])
def test_imports_point_down(path: Path) -> None:
    assert upward(path.read_text(encoding="utf-8"), path.relative_to(PACKAGE).parts) == []


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_of_the_study_know_only_those_before_them(room: str) -> None:
    place = PACKAGE / "study" / room
    modules = [place] if place.is_file() else sorted(place.rglob("*.py"))
    assert modules
    seen = set()
    for path in modules:
        folder = path.relative_to(PACKAGE).parts[:-1]
        own = {found[1] for found in imports(path.read_text(encoding="utf-8"), folder) if found[0] == "study"}
        seen |= own - {room, "StudyError"}
    assert seen <= ROOMS[room]
    assert seen or not ROOMS[room]  # the list is not longer than it must be


@pytest.mark.parametrize(
    "line",
    [
        "import softpenalty.study",
        "import softpenalty.study.records as records, math",
        "import math, softpenalty.study.run",
        "from softpenalty.study import records",
        "from softpenalty.study.records import Records",
        "from softpenalty import study",
        "from softpenalty import __version__, study",
        "from .. import study",
        "from ..study import records",
        "from ..study.records import Records",
        "from softpenalty import cli",
        "from softpenalty import unknown",
    ],
)
@pytest.mark.parametrize(
    "place",
    [
        "{}",
        "def late():\n    {}",
        "class A:\n    def late(self):\n        {}",
        "try:\n    {}\nexcept ImportError:\n    pass",
        "if TYPE_CHECKING:\n    {}",
    ],
    ids=["first", "late", "method", "try", "types"],
)
def test_an_import_that_points_up_is_seen(line: str, place: str) -> None:
    assert upward(place.format(line), ("solve", "minimize.py"))


@pytest.mark.parametrize(
    "line",
    [
        "import softpenalty",
        "import softpenalty.problem.constraint",
        "from softpenalty import Constraint, __version__",
        "from softpenalty.formulas import kernels",
        "from ..problem.constraint import Constraint",
        "from . import report",
        "from .report import draw",
        "import softpenaltymore.study",
        "from .study import report",  # of its own folder
    ],
)
def test_an_import_that_points_down_is_let_pass(line: str) -> None:
    assert upward(f"def late():\n    {line}", ("solve", "minimize.py")) == []


def test_names_that_the_package_lends_count_where_they_live() -> None:
    assert upward("def late():\n    from softpenalty import minimize", ("problem", "penalty.py")) == ["solve"]
    assert upward("from .. import penalize", ("formulas", "kernels.py")) == ["problem"]
    assert upward("from ... import study", ("solve", "sqp", "loop.py")) == ["study"]
