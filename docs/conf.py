"""The site: `make docs` builds it into build/docs, offline, with every script of the gallery run.

Pages are Markdown that also reads on a code host: they link to files of the repository by relative paths.
Where such a file is a page of the site too (benchmarks, changelog), the copy made here is linked instead.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml

DOCS = Path(__file__).parent
ROOT = DOCS.parent
GENERATED = DOCS / "generated"
EXPLORER = ROOT / "src" / "softpenalty" / "explore" / "page.html"
COPIED = [*sorted((ROOT / "benchmarks").glob("*.md")), ROOT / "CHANGELOG.md"]

sys.path.insert(0, str(ROOT / "src"))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import softpenalty  # noqa: E402

project = "softpenalty"
author = "The softpenalty developers"
copyright = author
version = release = softpenalty.__version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py"]
suppress_warnings = ["config.cache"]  # functions among the gallery's settings
default_role = "py:obj"  # `name` in a docstring is a link where there is something to link to
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections have the types
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # every script runs
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "plot_gallery": True,
    "abort_on_example_error": False,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
}

html_theme = "pydata_sphinx_theme"
html_title = "softpenalty"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_copy_source = html_show_sourcelink = False
html_sidebars: dict[str, list[str]] = {"index": [], "explorer": []}
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"image_light": "_static/mark.svg", "image_dark": "_static/mark.svg", "text": "softpenalty"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


# ------------------------------------------------------------------------------ pages that are made or copied


def copy_pages(app: Any) -> None:
    """Put benchmarks and changelog where Sphinx finds them, and the explorer where it is served."""
    GENERATED.mkdir(exist_ok=True)
    for page in COPIED:
        depth = os.path.relpath(page.parent, GENERATED)
        text = re.sub(r"(\]\()(?!https?:|#)([^)]+)\)", rf"\1{depth}/\2)", page.read_text(encoding="utf-8"))
        _write(GENERATED / page.name, text.replace(f"{depth}/docs/", "../"))
    if EXPLORER.is_file():
        target = DOCS / "_static" / "explorer.html"
        if not target.is_file() or target.read_bytes() != EXPLORER.read_bytes():
            shutil.copyfile(EXPLORER, target)


def _write(path: Path, text: str) -> None:
    """Write only what has changed, so that Sphinx reads only that."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def link_pages(app: Any, page: str, source: list[str]) -> None:
    """Link the site's own copies, and the gallery's pages rather than its scripts."""
    here = os.path.relpath(GENERATED, (DOCS / page).parent)
    for copied in COPIED:
        original = os.path.relpath(copied, (DOCS / page).parent)
        source[0] = source[0].replace(f"]({original}", f"]({here}/{copied.name}")
    source[0] = re.sub(r"\]\(\.\./examples/gallery/(\w+)\.py\)", r"](gallery/\1.rst)", source[0])


# ------------------------------------------------------ formulas without a script: browsers know MathML today


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(str(latex2mathml.tex2mathml(node.astext())))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{latex2mathml.tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def skip_inner(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool:
    """Leave out what kernels are made of."""
    return skip or name.endswith("_formula") or name in ("apply", "extra_repr")


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("builder-inited", copy_pages, priority=100)  # before anyone looks for pages
    app.connect("source-read", link_pages)
    app.connect("autodoc-skip-member", skip_inner)
