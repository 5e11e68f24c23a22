"""`softpenalty explore`: a browser with the page, a file, or one clear line."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from softpenalty import cli
from softpenalty.explore import PAGE


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


def test_the_page_is_opened(opened: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explore"]) == 0
    assert opened == [PAGE.as_uri()] and PAGE.is_file()
    assert str(PAGE) in capsys.readouterr().out


def test_no_browser_is_one_line_that_says_where_the_page_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert cli.main(["explore"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1
    assert str(PAGE) in captured.err and "--out" in captured.err


def test_a_file_is_written_whole_and_nothing_opened(
    tmp_path: Path, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new" / "explorer.html"
    assert cli.main(["explore", "--out", str(file)]) == 0
    assert str(file) in capsys.readouterr().out
    assert file.read_bytes() == PAGE.read_bytes()
    assert list(file.parent.iterdir()) == [file] and opened == []


def test_a_file_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explore", "--out", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1
    assert str(tmp_path) in captured.err and list(tmp_path.iterdir()) == []


def test_options_of_the_study_are_not_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["explore", "--samples", "3"])
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from softpenalty import cli\n"
        "assert cli.main(['explore', '--out', sys.argv[1]]) == 0\n"
        "assert not {'numpy', 'scipy', 'numba', 'matplotlib', 'rich'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "page.html")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
