"""The explorer, opened in a real browser and asked by a script."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from pages import browse
from softpenalty.explore import PAGE

ATTEMPTS = 4


def visit(
    place: Path, script: str, *options: str, width: int = 1280, given: str = "", address: str = ""
) -> Any:
    """What `script` returns; the console must stay empty.

    The script sees the explorer's window as `page`, finds parts of it by ``find(id)`` and may await
    ``drawn()`` and ``rest(milliseconds)``. `given` is HTML beside the explorer, `address` its hash.
    """
    outer = place / "outer.html"
    place.mkdir(exist_ok=True)
    outer.write_text(
        f"""<!doctype html><meta charset="utf-8"><body>{given}
        <iframe src="{PAGE.as_uri()}{address}" style="width: {width}px; height: 800px; border: 0"></iframe>
        <pre id="seen"></pre><script>
        const rest = time => new Promise(done => setTimeout(done, time));
        window.addEventListener("load", async () => {{
          const page = document.querySelector("iframe").contentWindow;
          const find = id => page.document.getElementById(id);
          const drawn = () => new Promise(done => page.requestAnimationFrame(done));
          await drawn();
          // Virtual time runs ahead of a headless browser's frames; timers keep step with it.
          page.requestAnimationFrame = draw => setTimeout(draw, 16);
          const seen = await (async () => {{ {script} }})();
          document.getElementById("seen").textContent = JSON.stringify(seen);
        }});
        </script>""",
        encoding="utf-8",
    )
    fixed = ("--allow-file-access-from-files", "--virtual-time-budget=20000", "--window-size=1400,900")
    for attempt in range(ATTEMPTS):  # on a busy machine the first frame may come too late
        document, console = browse(outer, place / f"profile-{attempt}", *fixed, *options)
        assert console == []
        found = re.search(r'<pre id="seen">(.+?)</pre>', document, flags=re.DOTALL)
        if found:
            return json.loads(html.unescape(found[1]))
    raise AssertionError("the script did not come to its end")
