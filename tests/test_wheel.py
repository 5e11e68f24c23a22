"""The wheel: built here, installed where there is no compiler, and built where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILT_FROM = ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "src")
LARGEST = 1_000_000  # bytes

SOLVE = """
import os, shutil, softpenalty
assert "checkout" not in softpenalty.__file__ and shutil.which("cc") is None
result = softpenalty.minimize(lambda x: x[0] + x[1], [9.0, 1.0],
    constraints=softpenalty.Constraint(lambda x: x[0] * x[1], ">", 25.0))
assert result.success and abs(result.fun - 10.0) < 1e-6
from softpenalty.explore import PAGE
assert PAGE.is_file()
softpenalty.show_config()
"""


def build(tmp_path: Path, **environment: str) -> Path:
    """A wheel from a copy of the sources."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
            shutil.copytree(ROOT / name, checkout / name, ignore=ignored)
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, checkout / name)
    bin_folder = str(Path(sys.executable).parent)
    path = os.pathsep.join([bin_folder, os.environ["PATH"]])
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir",
            str(tmp_path / "dist"), str(checkout)],
        check=True, env={**os.environ, "PATH": path, **environment}, cwd=tmp_path,
    )  # fmt: skip
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    return wheel


def use(wheel: Path, tmp_path: Path) -> str:
    """What a solve says in an environment of its own, with no compiler on PATH.

    The dependencies are those of this environment, found by their path.
    """
    place = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run([sys.executable, *install], check=True)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    library = subprocess.run([python, "-c", where], check=True, capture_output=True, text=True).stdout.strip()
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(library) / "dependencies.pth").write_text("\n".join(paths))
    run = subprocess.run(
        [python, "-c", SOLVE], capture_output=True, text=True, cwd=tmp_path, env={"PATH": str(python.parent)}
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_the_wheel_needs_no_compiler_where_it_is_installed(tmp_path):
    wheel = build(tmp_path)
    assert wheel.stat().st_size < LARGEST
    assert "none-any" not in wheel.name
    assert "the compiled core, because it was built" in use(wheel, tmp_path)


@pytest.mark.slow
def test_without_a_compiler_the_package_is_built_without_the_core(tmp_path):
    wheel = build(tmp_path, CC=shutil.which("false") or "false")
    assert wheel.name.endswith("py3-none-any.whl")
    assert "Python and NumPy, because the compiled core was not built" in use(wheel, tmp_path)
