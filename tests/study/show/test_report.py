"""The report: complete, honest about what is missing, and readable in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pages import Reader, browse, needs_chromium
from softpenalty.study import StudyError
from softpenalty.study.show.report import write_report
from study.synthetic import write_records


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write_records(tmp_path_factory.mktemp("report")))


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("partial")
    write_records(folder, 20, skip=lambda experiment, n, name: experiment != "planes" or n > 8)
    return write_report(folder)


def test_every_file_is_written(report: Path) -> None:
    names = {
        path.relative_to(report.parent).as_posix() for path in report.parent.rglob("*") if path.is_file()
    }
    drawn = [*(f"fig{i}" for i in range(1, 8)), "summary", "fig-balance", "fig-solvers"]
    figures = {f"figures/{name}.{ending}" for name in drawn for ending in ("svg", "png")}
    tables = {"table.md", "table.tex", "table.html", "records.csv", "records.parquet"}
    assert {"report.html"} | tables | figures <= names
    assert not [name for name in names if name.endswith(".tmp")]
    assert report.stat().st_size < 5_000_000


def test_the_page_is_well_formed_and_needs_no_network(report: Path) -> None:
    text = report.read_text("utf-8")
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert len(set(reader.identifiers)) == len(reader.identifiers)
    assert reader.headings[0] == 1
    assert reader.headings.count(1) == 1
    assert all(
        after - before <= 1 for before, after in zip(reader.headings, reader.headings[1:], strict=False)
    )
    links = re.findall(r"""(?:src|href|action)=["']([^"'#][^"']*)""", text)
    assert {"records.csv", "records.parquet", "table.tex", "figures/fig5.svg", "figures/fig5.png"} <= set(
        links
    )
    for link in links:
        assert (report.parent / link).is_file(), link
    assert "@import" not in text


def test_the_summary_says_what_was_run_claimed_and_found(report: Path) -> None:
    text = report.read_text("utf-8")
    head = text[text.index("<header") : text.index("</header>")]
    assert "trials" in head and 'class="verdict' in head and 'class="picture"' in head
    assert head.count("<li>") == 6 and "With 50 variables, one fifth" in head
    assert "<table" not in head
    parts = re.findall(r'<details class="fold" id="(\w+)">', text)
    assert parts == ["claims", "table", "figures", "findings", "balance", "solvers", "check", "run"]
    assert "<details open" not in text


def test_solvers_say_where_more_iterations_are_needed_and_why(report: Path) -> None:
    text = report.read_text("utf-8")
    assert "Hypersphere: minimize takes 1.50 to 1.50 times the iterations of SLSQP, more at N = 2, 3" in text
    assert "Sheared hyperplanes: minimize takes 0.10 to 0.10 times the iterations of SLSQP." in text
    assert "first matrix is the identity" in text


def test_a_complete_study_is_said_to_reproduce_the_paper(report: Path) -> None:
    text = report.read_text("utf-8")
    assert 'class="verdict good"' in text
    assert "128 of 128" in text
    assert text.count('class="chip-verdict') == 16 + 6  # six of them in the summary too


def test_a_partial_study_says_what_is_missing(partial: Path) -> None:
    text = partial.read_text("utf-8")
    assert 'class="verdict part"' in text
    assert "Not enough trials to judge" in text
    assert "not measured" in text
    assert "Not on record: Balance, norm, Balance, sum" in text
    assert "Not on record: softpenalty.minimize, SLSQP (SciPy)" in text
    assert text.count("No records of this experiment") >= 4
    assert text.count('<figure class="plot"') == 7


def test_no_records_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="No records"):
        write_report(tmp_path)


# --------------------------------------------------------------------------------------- a real browser


@needs_chromium
def test_the_console_is_really_read(tmp_path: Path) -> None:
    page = tmp_path / "broken.html"
    page.write_text("<script>undefinedFunction()</script>", encoding="utf-8")
    assert "undefinedFunction" in browse(page, tmp_path / "profile")[1][0]


@needs_chromium
@pytest.mark.parametrize("which", ["report", "partial"])
def test_a_browser_shows_table_and_figures_without_errors(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    document, console = browse(request.getfixturevalue(which), tmp_path / "profile")
    assert console == []
    assert document.count('<table class="large">') == 1
    assert len(re.findall(r'<figure class="plot" id="fig[1-7]">', document)) == 7
    assert re.search(r'<html[^>]* data-theme="(light|dark)"', document), "the script ran"


PROBE = """<script>
window.addEventListener("load", function () {
  var frame = document.querySelector("iframe"), page = frame.contentDocument, seen = {};
  seen.screens = page.querySelector("header").getBoundingClientRect().height / frame.clientHeight;
  frame.contentWindow.openAll();
  seen.overflow = page.documentElement.scrollWidth - frame.clientWidth;
  seen.table = page.querySelector("table.large").getBoundingClientRect().height;
  frame.contentWindow.dispatchEvent(new Event("resize"));
  seen.hints = Array.from(page.querySelectorAll("figure.plot .swipe")).map(function (hint) {
    return hint.getBoundingClientRect().height; });
  seen.figures = Array.from(page.querySelectorAll("figure.plot svg")).map(function (svg) {
    return svg.getBoundingClientRect().height; });
  var box = page.querySelector("#fig5 .tip");
  var where = {bubbles: true, clientX: 9, clientY: 9};
  box.dispatchEvent(new frame.contentWindow.PointerEvent("pointermove", where));
  seen.tip = page.getElementById("tip").textContent;
  frame.contentWindow.switchTheme();
  seen.themes = [page.documentElement.dataset.theme];
  seen.dark = frame.contentWindow.getComputedStyle(page.body).backgroundColor;
  document.body.dataset.seen = JSON.stringify(seen);
});
</script>"""


def look(report: Path, profile: Path, width: int) -> dict[str, Any]:
    """What a window of some width and 800 pixels height shows."""
    page = report.with_name(f"window{width}.html")
    frame = f'<iframe src="{report.name}" style="width: {width}px; height: 800px; border: 0"></iframe>'
    page.write_text(f"<!doctype html><body>{frame}{PROBE}</body>", encoding="utf-8")
    document, console = browse(page, profile, "--allow-file-access-from-files")
    assert console == []
    found = re.search(r"data-seen='([^']*)'|data-seen=\"([^\"]*)\"", document)
    assert found is not None
    seen: dict[str, Any] = json.loads((found[1] or found[2]).replace("&quot;", '"').replace("&amp;", "&"))
    return seen


@needs_chromium
def test_the_summary_fits_one_screen(report: Path, tmp_path: Path) -> None:
    seen = look(report, tmp_path / "profile", 1280)
    assert seen["screens"] <= 1.0
    assert max(seen["hints"]) == 0, "nothing has to scroll"


@needs_chromium
def test_a_phone_can_read_it(report: Path, tmp_path: Path) -> None:
    seen = look(report, tmp_path / "profile", 390)
    assert seen["overflow"] <= 0, "wide parts scroll inside their box"
    assert seen["table"] > 300
    assert len(seen["figures"]) == 9
    assert min(seen["figures"]) > 100
    assert min(seen["hints"]) > 0, "what scrolls says so"
    assert "median" in seen["tip"]
    assert seen["themes"] == ["dark"]
