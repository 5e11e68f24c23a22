"""The explorer: one page of HTML that shows what a penalty does, without a network or a library.

Its formulas are those of :mod:`softpenalty.formulas`, written once more in JavaScript; a test compares both
in a browser.
"""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().with_name("page.html")
