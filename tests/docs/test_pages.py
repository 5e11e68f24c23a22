"""Every Python block of README and docs runs as written, prints what is shown, and does what is said."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doc_pages import PAGES, ROOT, blocks, differences, run
from softpenalty.solve.status import SUCCESSES, Status

WITH_PYTHON = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
FENCED = re.compile(r"^```.*?^```$", flags=re.DOTALL | re.MULTILINE)
OPTIONAL = {"torch", "jax", "optax", "cooper", "cma", "pymoo", "nlopt", "mystic", "matplotlib"}


@pytest.mark.parametrize("page", WITH_PYTHON, ids=[page.stem for page in WITH_PYTHON])
@pytest.mark.filterwarnings("ignore::DeprecationWarning:pymoo", "ignore::DeprecationWarning:mystic")
def test_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if "matplotlib" in sys.modules or ".plot()" in page.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib").use("Agg")
    try:
        space, printed, shown = run(page)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] not in OPTIONAL:
            raise
        pytest.skip(f"{page.name} needs {missing.name}")
    except ImportError as missing:  # a module of softpenalty that names its extra
        if "pip install" not in str(missing):
            raise
        pytest.skip(str(missing))
    finally:
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    for block, answer in shown:
        missing_parts = differences(block.text, answer)
        assert not missing_parts, f"{page.name}:{block.line} shows {missing_parts}; printed was:\n{answer}"
    if page.name in CHECKS:
        CHECKS[page.name](space, printed.splitlines(), capsys.readouterr().err)


def test_most_pages_have_python() -> None:
    assert len(WITH_PYTHON) >= 12


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_python_is_marked(page: Path) -> None:
    """No Python hides from the test above in a block without its name."""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language != "python":
            assert not re.search(r"^(from|import) \w+", block.text, flags=re.MULTILINE), block.line


# ------------------------------------------------------------------------- what single pages promise besides


def _readme(space: dict[str, Any], printed: list[str], _: str) -> None:
    first = blocks((ROOT / "README.md").read_text(encoding="utf-8"))[0]
    assert first.language == "python" and len(first.text.strip().splitlines()) <= 10
    sides = [float(word) for word in printed[0].strip("[] ").split()]
    assert sides == pytest.approx([6.25, 4.0], abs=1e-6)


def _simulation(space: dict[str, Any], printed: list[str], error: str) -> None:
    result, hot, stopped = space["result"], space["hot"], space["stopped"]
    assert result.success and result.nfev == int(printed[0].split()[-1])
    assert hot.success and hot.failures > 0
    assert "beyond the property data" in hot.failure_messages["RuntimeError"]
    assert hot.x == pytest.approx(result.x, rel=1e-5)
    assert stopped.nfev <= 12 and "Evaluation limit" in stopped.message
    assert "True 0" in printed  # the second run simulated nothing
    assert printed.count("True True") == 1 and printed.count("True") == 1  # in parallel
    assert "iteration 1 · objective" in error or "iteration 0 · objective" in error
    assert any("derivative of the objective with respect to x[" in line for line in printed)
    assert "Infeasible" in printed[-1] and {"conversion > 0.9", "heat < 20"} <= set(space["none"].conflict)


def _search(space: dict[str, Any], printed: list[str], _: str) -> None:
    assert "-106.7645" in printed[0]
    assert len(space["result"].minima) == 5  # as the comment says


def _training(space: dict[str, Any], printed: list[str], _: str) -> None:
    norm, multiplier, violation = map(float, printed[0].split())
    assert norm == pytest.approx(2.0, abs=0.02)  # batches of 64 and a constant rate of 0.02
    assert multiplier > 0.0 and violation < 0.02
    norm, multiplier = map(float, re.sub(r"[\[\]]", "", printed[1]).split())
    assert norm == pytest.approx(2.0, abs=1e-2)
    assert multiplier > 0.0


CHECKS: dict[str, Callable[[dict[str, Any], list[str], str], None]] = {
    "README.md": _readme,
    "simulation.md": _simulation,
    "search.md": _search,
    "training.md": _training,
}


# --------------------------------------------------------------------------- links, commands and statuses


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_links_lead_somewhere_on_a_code_host_too(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(FENCED, "", page.read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target), link


def _anchors(page: Path) -> set[str]:
    """The anchors of headings, as code hosts and MyST make them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(FENCED, "", page.read_text(encoding="utf-8")), flags=re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


COMMANDS = [
    (page.name, line.split("#")[0].strip())
    for page in PAGES
    for block in blocks(page.read_text(encoding="utf-8"))
    if block.language == "sh"
    for line in block.text.splitlines()
    if line.strip() and not line.startswith("#")
]


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{p}: {c}" for p, c in COMMANDS])
def test_command_exists(page: str, command: str) -> None:
    words = command.split()
    if words[0] == "make":
        targets = re.findall(
            r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        for word in words[1:]:
            assert "=" in word or word in targets, word
    elif words[0] == "softpenalty":
        names = [word for word in words[1:] if not word.startswith("-")]
        subprocess.run(
            [sys.executable, "-m", "softpenalty.cli", *names, "--help"], check=True, capture_output=True
        )
    elif words[:2] == ["pip", "install"]:
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        for extra in re.findall(r"\[([\w,]+)\]", command):
            assert set(extra.split(",")) <= set(settings["project"]["optional-dependencies"])
    else:
        assert words[0] == "python" and (ROOT / words[1]).is_file(), command


def test_the_readme_names_both_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make test" in text and "make study" in text


def test_every_status_is_explained() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\d+) \| ([^|]+?) \|", text, flags=re.MULTILINE))
    assert set(rows) == {str(status.number) for status in Status}
    for status in Status:
        assert status.message.startswith(rows[str(status.number)])
    numbers = sorted(status.number for status in SUCCESSES)
    assert f"true for {numbers[0]}, {numbers[1]} and {numbers[2]} only" in text and len(numbers) == 3


def test_a_page_that_shows_something_else_is_found_out() -> None:
    assert not differences("x [6.25 4.  ] after 20 iterations", "x [6.2501 4.0001] after 22 iterations\n")
    assert differences("x 6.25", "x 7.25")
    assert differences("held", "saturated")
    assert differences("a b", "a b c")  # a part is marked as such:
    assert not differences("a b\n...\n", "a b c")
    assert not differences("a\n...\nd", "a b c d")
    assert differences("a\n...\nd", "a b c d e")
