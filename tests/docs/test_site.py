"""The built site, build/docs: every link, anchor and picture leads somewhere, and nothing asks the network.

`make docs` builds it; without it these tests are skipped (in CI, where nothing may be, it is built before).
"""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from doc_pages import PAGES, ROOT

SITE = ROOT / "build" / "docs"
NOT_LOADED = ("canonical", "search", "next", "prev", "index")
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}

pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="`make docs` has not been run")


class Page(HTMLParser):
    """What a page refers to, and where it can be entered."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.unnamed_images = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if LOADED.get(tag, "") in found and found.get("rel") not in NOT_LOADED:
            self.loaded.append(found[LOADED[tag]])
        if tag == "img" and "alt" not in found:
            self.unnamed_images += 1


@cache
def page(path: Path) -> Page:
    return Page(path)


def html_files() -> list[Path]:
    return [path for path in SITE.rglob("*.html") if "_static" not in path.parts]


def broken(path: Path, reference: str) -> str | None:
    """Why a reference of the page leads nowhere, None if it does not."""
    parts = urlsplit(reference)
    if parts.scheme or parts.netloc:
        good = parts.scheme == "mailto" or (parts.scheme in ("http", "https") and "." in parts.netloc)
        return None if good and " " not in reference else "is no address"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "does not exist"
    if parts.fragment and target.suffix == ".html" and "_static" not in target.parts:
        return None if unquote(parts.fragment) in page(target).anchors else "has no such anchor"
    return None


def test_no_link_is_broken() -> None:
    files = html_files()
    assert len(files) > 40
    wrong = [
        f"{path.relative_to(SITE)}: {reference} {reason}"
        for path in files
        for reference in {*page(path).links, *page(path).loaded}
        if (reason := broken(path, reference))
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_is_loaded_from_elsewhere() -> None:
    outside = {
        f"{path.relative_to(SITE)}: {reference}"
        for path in html_files()
        for reference in page(path).loaded
        if urlsplit(reference).netloc
    }
    assert not outside


def test_every_page_is_built_and_every_picture_has_words() -> None:
    for source in PAGES[1:]:
        assert (SITE / f"{source.stem}.html").is_file(), source.name
    assert not [path.name for path in html_files() if page(path).unnamed_images]


def test_formulas_are_no_text() -> None:
    """A formula that is not understood would stay in its dollars."""
    for name in ("penalty-functions", "how-it-works", "minimize"):
        text = (SITE / f"{name}.html").read_text(encoding="utf-8")
        assert "<math" in text and "$" not in text.split("</header>")[-1].split("<footer")[0]


def test_the_gallery_and_the_explorer_are_there() -> None:
    scripts = list((ROOT / "examples" / "gallery").glob("*.py"))
    assert len(scripts) >= 10
    for script in scripts:
        assert list((SITE / "_images").glob(f"sphx_glr_{script.stem}_*.png")), script.name
    explorer = ROOT / "src" / "softpenalty" / "explore" / "page.html"
    assert (SITE / "_static" / "explorer.html").read_bytes() == explorer.read_bytes()
