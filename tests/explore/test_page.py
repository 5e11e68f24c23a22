"""The explorer in a real browser: it stands alone, works by keyboard and on a phone, and says what is so."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import softpenalty
from explore.visit import visit
from pages import Reader, needs_chromium
from softpenalty.explore import PAGE
from softpenalty.formulas.kernels import KERNELS
from softpenalty.formulas.operators import OPERATORS


def test_the_page_stands_alone() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "http://" not in text and "https://" not in text and "@import" not in text
    assert re.findall(r"""\s(?:src|href|action)=["']([^"']*)""", text) == ["data:,"]
    assert "default-src 'none'" in text
    assert set(re.findall(r"url\(([^)$]*)", text)) <= {"#"}


def test_the_page_is_well_formed() -> None:
    reader = Reader()
    text = PAGE.read_text(encoding="utf-8")
    reader.feed(text)
    assert not reader.open
    assert len(set(reader.identifiers)) == len(reader.identifiers)
    assert reader.headings[0] == 1 and reader.headings.count(1) == 1
    for tag in re.findall(r"<input [^>]*>", text[: text.index("<script>")]):
        name = re.search(r'id="([^"]+)"', tag)
        assert name is not None
        labelled = f'for="{name[1]}"' in text or "aria-label=" in tag
        assert labelled or f'<label class="tick">{tag}' in text, tag


USE = """
  const press = (id, key) =>
    find(id).dispatchEvent(new page.KeyboardEvent("keydown", {key, cancelable: true}));
  const give = (id, value) => { find(id).value = value; find(id).dispatchEvent(new page.Event("input")); };
  const choose = (name, value) =>
    page.document.querySelector(`input[name="${name}"][value="${value}"]`).click();
  const head = () => page.document.querySelector("#verdict b").textContent;
  const dots = id => page.document.querySelectorAll(`#${id} circle`).length;
  const seen = {overflow: [], heads: {}, calls: []};
  const note = async name => {
    await drawn();
    seen.heads[name] = head();
    seen.calls.push(find("call").textContent);
    seen.overflow.push(page.document.documentElement.scrollWidth - page.innerWidth);
  };
  await note("first");
  find("balance").click(); await note("balanced"); seen.dots = [dots("curve"), dots("slope"), dots("left")];
  press("sigma", "ArrowRight"); await note("one step more");
  press("sigma", "PageDown"); await note("ten steps less");
  find("weaken").click(); await note("weak"); seen.without = [dots("curve"), dots("slope"), dots("left")];
  const {KERNELS, OPERATORS} = page.softpenalty;
  for (const kernel of Object.keys(KERNELS)) for (const operator of Object.keys(OPERATORS)) {
    choose("kernel", kernel); choose("operator", operator); await drawn(); find("weaken").click();
    await note(`${kernel} ${operator} weak`);
    give("sigma", 1); await note(`${kernel} ${operator}`);  // 10¹
    if (kernel === "quadratic") seen.disabled = find("alpha").disabled && find("weaken").disabled;
  }
  give("alpha-number", "0.5"); await drawn();
  seen.slider = Number(find("alpha").value);
  const before = find("sum").toDataURL(), box = find("sum").getBoundingClientRect();
  const place = {clientX: box.left + 10, clientY: box.top + 10};
  find("sum").dispatchEvent(new page.MouseEvent("click", place)); await drawn();
  seen.start = [find("start-1").value, find("start-2").value];
  seen.redrawn = before !== find("sum").toDataURL();
  find("balanced").click(); await drawn();
  seen.corner = [find("sum-words").textContent, find("norm-words").textContent];
  await rest(900);
  seen.spoken = find("spoken").textContent;
  seen.address = page.location.hash;
  return seen;
"""


@needs_chromium
@pytest.mark.parametrize("width", [390, 1280])
def test_sliders_keys_and_choices(tmp_path: Path, width: int) -> None:
    seen = visit(tmp_path / "place", USE, width=width)
    assert max(seen["overflow"]) <= 0, "nothing is wider than the window"
    heads = seen["heads"]
    assert heads["first"] == "Error −0.147: allowed"
    assert heads["balanced"] == "No error"
    assert "allowed" in heads["one step more"] and "violated" in heads["ten steps less"]
    assert seen["dots"] == [1, 1, 1] and seen["without"] == [0, 0, 0]
    for kernel, operator in itertools.product(KERNELS, OPERATORS):
        weak = heads[f"{kernel} {operator} weak"].startswith("Too weak")
        assert weak == KERNELS[kernel].saturates
        assert not heads[f"{kernel} {operator}"].startswith("Too weak")
    assert seen["disabled"] is True
    assert seen["slider"] == pytest.approx(np.log10(0.5))
    assert seen["redrawn"] and float(seen["start"][0]) < -8.0 and float(seen["start"][1]) > 3.0
    assert all("at (0.000, 0.000)" in words for words in seen["corner"])
    assert "from the solution" in seen["spoken"]
    assert "kernel=huber" in seen["address"] and "balanced=1" in seen["address"]
    assert len(set(seen["calls"])) > 25
    for line in seen["calls"]:
        call, _, answer = line.partition("→")
        ours = eval(call, {"predicted_error": softpenalty.predicted_error})
        # The arguments and the answer are shown with six digits.
        np.testing.assert_allclose(float(answer), ours, rtol=1e-4, atol=1e-4)


@needs_chromium
def test_an_address_brings_a_setting_back(tmp_path: Path) -> None:
    script = """return {call: find("call").textContent,
      kernel: page.document.querySelector("[name=corner-kernel]:checked").value,
      sigma: find("corner-sigma-number").value, alpha: find("corner-alpha-number").value};"""
    one, two = (
        "kernel=algebraic&operator=%3E&sigma=3&gradient=1.25",
        "corner-kernel=softplus&corner-sigma=0.45",
    )
    seen = visit(tmp_path / "place", script, address=f"#{one}&{two}&corner-alpha=x")
    assert seen["call"].startswith(
        'predicted_error(1.25, sigma=3, alpha=0.2, operator=">", kernel="algebraic")'
    )
    assert seen["kernel"] == "softplus" and seen["sigma"] == "0.45"
    assert seen["alpha"] == "0.1", "what is no number is left alone"


PLAY = """
  const steps = [];
  find("play").click(); await rest(0); steps.push(find("step-words").textContent);
  await rest(1000); steps.push(find("step-words").textContent);
  await rest(9000); steps.push(find("step-words").textContent);
  find("play").click(); await rest(0); steps.push(find("step-words").textContent);
  return steps.map(words => Number(words.split(" ")[0]));
"""


@needs_chromium
@pytest.mark.parametrize("calm", [False, True])
def test_motion_only_where_it_is_wanted(tmp_path: Path, calm: bool) -> None:
    options = ("--force-prefers-reduced-motion",) if calm else ()
    first, soon, last, again = visit(tmp_path / "place", PLAY, *options)
    if calm:
        assert (first, soon, last, again) == (0, 0, 0, 1), "one step for each press"
    else:
        assert first == 0 and 0 < soon < last and again == 0


@needs_chromium
def test_dark_follows_the_system_and_can_be_set(tmp_path: Path) -> None:
    script = """
      const shade = () => page.getComputedStyle(page.document.body).backgroundColor;
      const theme = page.document.documentElement.dataset;
      const pixel = () => {
        const copy = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d");
        copy.drawImage(find("sum"), -3, -200);
        return copy.getImageData(0, 0, 1, 1).data[0];
      };
      const seen = [[shade(), pixel()]];
      theme.theme = "light"; await drawn(); seen.push([shade(), pixel()]);
      theme.theme = "dark"; await drawn(); seen.push([shade(), pixel()]);
      return seen;
    """
    light, set_light, set_dark = visit(tmp_path / "light", script, "--blink-settings=preferredColorScheme=1")
    dark, *_ = visit(tmp_path / "dark", script, "--blink-settings=preferredColorScheme=0")
    assert light == set_light and dark == set_dark
    assert light[0] == "rgb(244, 246, 248)" and dark[0] == "rgb(15, 20, 25)"
    assert dark[1] < light[1]
