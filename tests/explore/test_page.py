"""The explorer in a real browser: Python's formulas to 1e-9, and a page that works by keyboard and on a phone."""

from __future__ import annotations

import html
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import softpenalty
from pages import Reader, browse, needs_chromium
from softpenalty.explore import PAGE
from softpenalty.formulas.combinations import COMBINATIONS
from softpenalty.formulas.kernels import KERNELS
from softpenalty.formulas.operators import OPERATORS, penalty_function, penalty_slope
from softpenalty.formulas.penalty import penalty_and_multipliers
from softpenalty.formulas.prediction import predicted_error
from softpenalty.study.design import published
from softpenalty.study.design.experiments import CONFIGURATIONS
from softpenalty.study.judge import corner

CLOSE = {"rtol": 1e-9, "atol": 1e-300}  # the absolute one is for what underflows
SIZES = (0.0, 1e-12, 1e-6, 1e-3, 0.03, 0.1, 0.25, 0.7, 1.0, 3.0, 40.0, 1e3, 1e8, 1e200)
ERRORS = sorted({sign * size for sign in (-1.0, 1.0) for size in SIZES})
ALPHAS = (1e-9, 1e-4, 0.02, 0.1, 0.7, 1.0, 25.0)
SIGMAS = (1e-3, 0.4, 1.0, 2.0, 15.0, 1e4)
FRACTIONS = (1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 1.0, 1.5, 30.0)
POINTS = [(-9.0, -8.0), (0.0, 0.0), (3.0, -2.0), (0.5, 4.0), (-0.2, -0.4), (1e3, 2e3), (0.01, -0.005)]
SETTINGS = [(s, a) for s in (0.2, 0.45, 1.0, 2.0, 15.0) for a in (0.01, 0.1, 0.5)]
CORNER_KERNELS = ("softplus", "algebraic", "quadratic")

CALLS = {
    "value": list(itertools.product(ERRORS, ALPHAS, OPERATORS, KERNELS)),
    "predicted": [
        (fraction * sigma, sigma, alpha, operator, kernel)
        for fraction, sigma, alpha, operator, kernel in itertools.product(
            FRACTIONS, SIGMAS, ALPHAS, OPERATORS, KERNELS
        )
    ],
    "penalized": [
        (x, kernel, combination, (sigma, 1.5 * sigma), alpha)
        for x, kernel, combination, (sigma, alpha) in itertools.product(
            POINTS, KERNELS, COMBINATIONS, SETTINGS
        )
    ],
    "minimum": [
        (kernel, combination, (sigma, sigma), alpha)
        for kernel, combination, (sigma, alpha) in itertools.product(CORNER_KERNELS, COMBINATIONS, SETTINGS)
    ],
}
ASK = """
  const s = page.softpenalty, calls = JSON.parse(document.getElementById("calls").textContent);
  const texts = value => JSON.parse(JSON.stringify(value, (_, v) => typeof v === "number" ? String(v) : v));
  const ends = JSON.parse(document.getElementById("ends").textContent);
  return texts({
    value: calls.value.map(c => [s.penaltyFunction(...c), s.penaltySlope(...c), s.penaltyCurvature(...c)]),
    predicted: calls.predicted.map(c => [s.predictedError(...c), s.minimumError(...c)]),
    penalized: calls.penalized.map(c => s.corner.penalized(...c)),
    minimum: calls.minimum.map(c => s.corner.minimum(...c)),
    ends: ends.map(c => s.corner.descend(x => s.corner.penalized(x, ...c), s.corner.START).points.at(-1)),
    balance: Object.fromEntries(Object.keys(s.COMBINATIONS).map(name => [name, s.COMBINATIONS[name].balance(s.corner.MULTIPLIERS)])),
    strength: Object.fromEntries(Object.keys(s.COMBINATIONS).map(name => [name, s.COMBINATIONS[name].strength(s.corner.MULTIPLIERS)])),
    names: [Object.keys(s.KERNELS), Object.keys(s.OPERATORS), Object.keys(s.COMBINATIONS)],
  });
"""


def visit(place: Path, script: str, *options: str, width: int = 1280, given: str = "", address: str = "") -> Any:
    """What `script` returns: it sees the explorer's window as `page`, and may `await rest()` for its drawing."""
    outer = place / "outer.html"
    place.mkdir(exist_ok=True)
    outer.write_text(
        f"""<!doctype html><meta charset="utf-8"><body>{given}
        <iframe src="{PAGE.as_uri()}{address}" style="width: {width}px; height: 800px; border: 0"></iframe>
        <pre id="seen"></pre><script>
        const rest = (time = 60) => new Promise(done => setTimeout(done, time));
        window.addEventListener("load", async () => {{
          const page = document.querySelector("iframe").contentWindow, find = id => page.document.getElementById(id);
          await rest(300);
          const seen = await (async () => {{ {script} }})();
          document.getElementById("seen").textContent = JSON.stringify(seen);
        }});
        </script>""",
        encoding="utf-8",
    )
    fixed = ("--allow-file-access-from-files", "--virtual-time-budget=20000", "--window-size=1400,900")
    document, console = browse(outer, place / "profile", *fixed, *options)
    assert console == []
    found = re.search(r'<pre id="seen">(.+?)</pre>', document, flags=re.DOTALL)
    assert found, "the script did not come to its end"
    return json.loads(html.unescape(found[1]))


def numbers(texts: Any) -> Any:
    """Arrays of the numbers that JSON, which knows no infinity, carries as text."""
    return np.array(texts, dtype=object).astype(float)


# ------------------------------------------------------------------------------------------ formulas


ENDS = [
    (CONFIGURATIONS[name].kernel, CONFIGURATIONS[name].combination, (corner.SIGMA,) * 2, corner.ALPHA)
    for name in published.PATH_ENDS
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    given = "".join(
        f'<script type="application/json" id="{name}">{json.dumps(what)}</script>'
        for name, what in (("calls", CALLS), ("ends", ENDS))
    )
    return visit(tmp_path_factory.mktemp("formulas") / "place", ASK, given=given)


@needs_chromium
def test_the_page_has_the_names_of_python(answers: dict[str, Any]) -> None:
    assert answers["names"] == [list(KERNELS), list(OPERATORS), list(COMBINATIONS)]


def curvature(error: float, alpha: float, operator: str, kernel: str) -> float:
    low, high = OPERATORS[operator]
    g = KERNELS[kernel]
    return high * g.curvature(error, alpha) - low * g.curvature(-error, alpha)


@needs_chromium
def test_value_slope_and_curvature(answers: dict[str, Any]) -> None:
    ours = np.array(
        [[function(*call) for function in (penalty_function, penalty_slope, curvature)] for call in CALLS["value"]]
    )
    np.testing.assert_allclose(numbers(answers["value"]), ours, **CLOSE)


@needs_chromium
def test_predicted_error(answers: dict[str, Any]) -> None:
    ours = np.array([predicted_error(*call) for call in CALLS["predicted"]])
    assert np.isinf(ours).any() and (ours == 0.0).any()
    np.testing.assert_allclose(numbers(answers["predicted"])[:, 0], ours, **CLOSE)


@needs_chromium
def test_the_minimum_is_where_push_and_pull_are_equal(answers: dict[str, Any]) -> None:
    """Python's slope at the error that the page marks is the gradient; there is none where it says so."""
    seen = 0
    for (gradient, sigma, alpha, operator, kernel), (_, error) in zip(
        CALLS["predicted"], numbers(answers["predicted"]), strict=True
    ):
        weak = KERNELS[kernel].saturates and gradient >= sigma
        assert np.isnan(error) == weak
        if weak or kernel == "linear":
            continue
        pull = gradient if operator == ">" else -gradient
        slope = sigma * penalty_slope(error, alpha, operator, kernel)
        np.testing.assert_allclose(slope, -pull, rtol=1e-9)
        seen += 1
    assert seen > 1000


@needs_chromium
def test_value_and_gradient_in_the_corner(answers: dict[str, Any]) -> None:
    for (x, kernel, combination, sigmas, alpha), theirs in zip(
        CALLS["penalized"], answers["penalized"], strict=True
    ):
        penalty, multipliers = penalty_and_multipliers(
            corner.NORMALS @ np.array(x), sigma=np.array(sigmas), alpha=alpha, kernel=kernel, combination=combination
        )
        value, gradient = corner.OBJECTIVE @ np.array(x) + penalty, corner.OBJECTIVE + corner.NORMALS.T @ multipliers
        # Relative to the terms of the sums, which may cancel.
        np.testing.assert_allclose(float(theirs["value"]), value, rtol=1e-9, atol=1e-9 * np.abs(x).max())
        np.testing.assert_allclose(numbers(theirs["gradient"]), gradient, rtol=1e-9, atol=1e-9)


@needs_chromium
def test_minimum_in_the_corner(answers: dict[str, Any]) -> None:
    for (kernel, combination, sigmas, alpha), theirs in zip(CALLS["minimum"], answers["minimum"], strict=True):
        needed = COMBINATIONS[combination].strength(corner.multipliers())
        if KERNELS[kernel].saturates and sigmas[0] <= needed:
            assert theirs is None
            continue

        def gradient(x: np.ndarray) -> np.ndarray:
            _, multipliers = penalty_and_multipliers(
                corner.NORMALS @ x, sigma=sigmas[0], alpha=alpha, kernel=kernel, combination=combination
            )
            return corner.OBJECTIVE + corner.NORMALS.T @ multipliers

        found = numbers(theirs)
        ours = scipy.optimize.root(gradient, found + 1e-3 * alpha, tol=1e-14).x  # from beside it
        np.testing.assert_allclose(gradient(ours), 0.0, atol=1e-13)
        np.testing.assert_allclose(found, ours, rtol=0, atol=1e-9)


@needs_chromium
def test_balance_and_strength_in_the_corner(answers: dict[str, Any]) -> None:
    for name, combination in COMBINATIONS.items():
        np.testing.assert_allclose(
            numbers(answers["balance"][name]), combination.balance(corner.multipliers()), rtol=1e-9
        )
        np.testing.assert_allclose(
            float(answers["strength"][name]), combination.strength(corner.multipliers()), rtol=1e-9
        )


@needs_chromium
def test_paths_end_where_the_paper_has_them(answers: dict[str, Any]) -> None:
    ends = list(published.PATH_ENDS.values())
    np.testing.assert_allclose(numbers(answers["ends"]), ends, rtol=0, atol=2e-3)  # stated to three decimals


# ------------------------------------------------------------------------------------------ the page


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
        assert labelled or f"<label class=\"tick\">{tag}" in text, tag


USE = """
  const press = (id, key) => { find(id).focus(); find(id).dispatchEvent(new page.KeyboardEvent("keydown", {key, bubbles: true, cancelable: true})); };
  const choose = (name, value) => page.document.querySelector(`input[name="${name}"][value="${value}"]`).click();
  const head = () => page.document.querySelector("#verdict b").textContent;
  const dots = id => page.document.querySelectorAll(`#${id} circle`).length;
  const seen = {overflow: [], heads: {}, calls: []};
  const note = async name => {
    await rest();
    seen.heads[name] = head();
    seen.calls.push(find("call").textContent);
    seen.overflow.push(page.document.documentElement.scrollWidth - page.innerWidth);
  };
  await note("first");
  find("balance").click(); await note("balanced"); seen.dots = [dots("curve"), dots("slope"), dots("left")];
  press("sigma", "ArrowRight"); await note("one step more");
  press("sigma", "PageDown"); await note("ten steps less");
  find("weaken").click(); await note("weak"); seen.without = [dots("curve"), dots("slope"), dots("left")];
  for (const kernel of ["softplus", "algebraic", "quadratic", "linear", "huber"]) for (const operator of ["<", "=", ">"]) {
    choose("kernel", kernel); choose("operator", operator);
    await note(`${kernel} ${operator} weak`);
    find("sigma").value = 1; find("sigma").dispatchEvent(new page.Event("input")); await note(`${kernel} ${operator}`);
    if (kernel === "quadratic") seen.disabled = find("alpha").disabled;
    find("weaken").click();
  }
  find("alpha-number").value = "0.5"; find("alpha-number").dispatchEvent(new page.Event("input")); await rest();
  seen.slider = Number(find("alpha").value);
  const pixels = () => find("sum").toDataURL().length > 1000 && find("sum").toDataURL();
  const before = pixels();
  find("sum").dispatchEvent(new page.MouseEvent("click", {clientX: find("sum").getBoundingClientRect().left + 20, clientY: find("sum").getBoundingClientRect().top + 20})); await rest();
  seen.start = [find("start-1").value, find("start-2").value];
  seen.redrawn = before !== pixels();
  find("balanced").click(); await rest();
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
    assert heads["first"].startswith("Error −0.147: allowed")
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
    assert all("at (0.000, 0.000)" in words.replace("−0.000", "0.000") for words in seen["corner"])
    assert "from the solution" in seen["spoken"]
    assert "kernel=huber" in seen["address"] and "balanced=1" in seen["address"]


@needs_chromium
def test_the_call_shown_is_what_python_says(tmp_path: Path) -> None:
    shown = visit(tmp_path / "place", USE)["calls"]
    assert len(set(shown)) > 25
    for line in shown:
        call, _, answer = line.partition("→")
        ours = eval(call, {"predicted_error": softpenalty.predicted_error})
        # Both the arguments and the answer are shown with six digits.
        np.testing.assert_allclose(float(answer), ours, rtol=1e-4, atol=1e-4)


@needs_chromium
def test_an_address_brings_a_setting_back(tmp_path: Path) -> None:
    script = """return {call: find("call").textContent, kernel: page.document.querySelector("[name=corner-kernel]:checked").value,
      sigma: find("corner-sigma-number").value, alpha: find("corner-alpha-number").value};"""
    address = (
        "#kernel=algebraic&operator=%3E&sigma=3&gradient=1.25&corner-kernel=softplus&corner-sigma=0.45&corner-alpha=x"
    )
    seen = visit(tmp_path / "place", script, address=address)
    assert seen["call"].startswith('predicted_error(1.25, sigma=3, alpha=0.2, operator=">", kernel="algebraic")')
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
      const shade = () => page.getComputedStyle(page.document.body).backgroundColor, theme = page.document.documentElement.dataset;
      const pixel = () => find("sum").getContext("2d").getImageData(3, 200, 1, 1).data[0];
      const seen = [[shade(), pixel()]];
      theme.theme = "light"; await rest(); seen.push([shade(), pixel()]);
      theme.theme = "dark"; await rest(); seen.push([shade(), pixel()]);
      return seen;
    """
    light, set_light, set_dark = visit(tmp_path / "light", script, "--blink-settings=preferredColorScheme=1")
    dark, *_ = visit(tmp_path / "dark", script, "--blink-settings=preferredColorScheme=0")
    assert light == set_light and dark == set_dark
    assert light[0] == "rgb(244, 246, 248)" and dark[0] == "rgb(15, 20, 25)"
    assert dark[1] < light[1]
