"""Imports point down only: formulas ← problem ← solve, training ← study, cli."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "softpenalty"
LEVELS = {"formulas": 0, "problem": 1, "solve": 2, "training": 2, "study": 3, "cli": 4}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def layer_of(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    """Return the layers that a module imports, wherever in the file the import stands."""
    folder = path.relative_to(PACKAGE).parts[:-1]
    layers = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                base = folder[: len(folder) - node.level + 1] if node.level > 1 else folder
                whole = [(*base, *module)] if module else [(*base, alias.name) for alias in node.names]
            elif module[:1] == ("softpenalty",):
                whole = [module[1:]] if module[1:] else [(alias.name,) for alias in node.names]
            else:
                continue
        elif isinstance(node, ast.Import):
            whole = [tuple(a.name.split(".")[1:]) for a in node.names if a.name.startswith("softpenalty.")]
        else:
            continue
        layers |= {layer_of(parts) for parts in whole if parts}
    return layers & LEVELS.keys()


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES])
def test_imports_point_down(path: Path) -> None:
    own = layer_of(path.relative_to(PACKAGE).parts)
    for layer in imported_layers(path):
        same = layer == own
        assert same or LEVELS[layer] < LEVELS[own], f"{path.name} ({own}) imports from {layer}"


def test_the_reader_of_imports_sees_them(tmp_path: Path) -> None:
    """The test above can fail: the parser finds relative, absolute and late imports."""
    assert "formulas" in imported_layers(PACKAGE / "problem" / "penalty.py")
    assert {"formulas"} <= imported_layers(PACKAGE / "problem" / "constraint.py")
