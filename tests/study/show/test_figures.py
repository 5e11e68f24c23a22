"""The figures: what they are drawn from, and the files."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from softpenalty.formulas.kernels import KERNELS
from softpenalty.study.design import published
from softpenalty.study.judge.facts import Facts
from softpenalty.study.records import RECORDS_NAME, Records
from softpenalty.study.show import drawing, figure_data, figures
from study.synthetic import write_records


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    with Records(write_records(tmp_path_factory.mktemp("figures"), 40) / RECORDS_NAME) as records:
        return Facts(records)


@pytest.fixture(scope="module")
def folder(facts: Facts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    for figure in (*figures.FIGURES, *figures.COMPARISONS.values(), figures.SUMMARY):
        figures.save(figure, facts, folder)
    return folder


def test_marks_of_fig_2_are_minima() -> None:
    for curve in figure_data.sensitivity_panels()[0].curves:
        assert curve.mark is not None
        assert curve.mark[1] <= curve.y.min() + 1e-12


def test_fig_1_shows_the_laws_of_the_kernels() -> None:
    kernels, operators, widths = figure_data.kernel_panels()
    for panel in (kernels, widths):
        for curve in panel.curves:
            np.testing.assert_allclose(curve.y - curve.y[::-1], curve.x, atol=1e-12)
    less, equal, greater = operators.curves
    np.testing.assert_allclose(less.y + greater.y, equal.y)
    assert {curve.family for curve in kernels.curves} <= KERNELS.keys()


def test_box_plots_show_quantiles_and_published_medians(facts: Facts) -> None:
    error, iterations = figure_data.dimension_panels(facts, "planes")
    assert len(error.boxes) == len(iterations.boxes) == 32
    assert error.groups == tuple(map(str, published.DIMENSIONS))
    for panel, quantity in ((error, "error"), (iterations, "iterations")):
        for box in panel.boxes:
            assert list(box.quantiles) == sorted(box.quantiles)
            n = published.DIMENSIONS[box.group]
            assert box.published == published.MEDIANS["planes", n, box.configuration, quantity]


def test_sweeps_mark_the_one_median_the_paper_gives(facts: Facts) -> None:
    sigma, alpha = figure_data.sweep_panels(facts)
    marked = [(box.configuration, sigma.groups[box.group]) for box in sigma.boxes if box.published]
    assert marked == [("courant-beltrami", "10⁴")]
    assert not [box for box in alpha.boxes if box.published]
    assert len(sigma.boxes) == 7 * 4
    assert len(alpha.boxes) == 7 * 3


def test_fig_2_hides_no_mark(facts: Facts) -> None:
    """Two minima nearly meet at the marked gradient: a square fits into a ring."""
    ring, square = drawing._MARKS["algebraic"], drawing._MARKS["quadratic"]
    assert ring["markerfacecolor"] == drawing.PAPER and square["markersize"] < ring["markersize"] - 4.0
    above, below = figures.FIGURES[1].draw(facts).axes
    assert above.get_ylabel() == "penalty + objective" and below.get_ylabel() == "error left, |ε|"


def test_fig_3_gives_courant_beltrami_an_axis_of_its_own(facts: Facts) -> None:
    left, right = figures.FIGURES[2].draw(facts).axes
    assert "α" in left.get_ylabel() and "Courant-Beltrami" in right.get_ylabel()
    drawn = [line for line in right.get_lines() if line.get_label() == "Courant-Beltrami (right axis)"]
    np.testing.assert_allclose(drawn[0].get_ydata(), 0.5 * np.asarray(drawn[0].get_xdata()))


def test_fig_7_shows_the_law_of_softplus_against_sigma(facts: Facts) -> None:
    sigma, _ = figure_data.sweep_panels(facts)
    (guide,) = [guide for guide in sigma.guides if guide.family == "softplus norm"]
    assert guide.label == "log₂ σ"
    boxes = {box.group: box.quantiles[2] for box in sigma.boxes if box.configuration == "softplus norm"}
    for group, value in zip(guide.x, guide.y, strict=True):
        assert value == pytest.approx(boxes[int(group)], rel=1e-6)  # these records follow it exactly


def test_balance_and_solvers_are_drawn_beside_the_fixed_configurations(facts: Facts) -> None:
    for experiment, names in (
        ("balance", {"balance norm", "balance sum"}),
        ("solvers", {"minimize", "slsqp"}),
    ):
        panels = figure_data.comparison_panels(facts, experiment)
        assert len(panels) == 4
        for panel in panels:
            assert {curve.family for curve in panel.curves} == names | set(published.CONFIGURATIONS)
    iterations = {curve.family: curve.y for curve in panels[3].curves}
    assert (iterations["minimize"] > iterations["slsqp"]).all()  # the hypersphere of these records


def test_the_summary_shows_medians_and_published_ones(facts: Facts) -> None:
    panel = figure_data.summary_panel(facts)
    assert [curve.family for curve in panel.curves] == list(published.CONFIGURATIONS)
    assert len(panel.published) == 4 * len(published.DIMENSIONS)


def test_every_figure_as_svg_and_png(folder: Path) -> None:
    every = (*figures.FIGURES, *figures.COMPARISONS.values(), figures.SUMMARY)
    assert len(figures.FIGURES) == 7
    assert len(list(folder.glob("*.svg"))) == len(list(folder.glob("*.png"))) == len(every) == 10
    for figure in every:
        assert figure.title
        assert figure.caption.endswith(".")
        assert figure.alternative
        root = ElementTree.parse(folder / f"{figure.name}.svg").getroot()
        assert root.tag.endswith("svg")
        titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
        assert len(titles) > 20, "values to read on hover"


def test_figures_are_the_same_on_every_run(facts: Facts, folder: Path, tmp_path: Path) -> None:
    assert figures.save(figures.FIGURES[2], facts, tmp_path) == (folder / "fig3.svg").read_text("utf-8")


def test_inline_figures_do_not_share_identifiers(folder: Path) -> None:
    seen: set[str] = set()
    for name in ("fig2", "fig5", "fig6"):
        svg = figures.inline((folder / f"{name}.svg").read_text("utf-8"), name)
        identifiers = set(re.findall(r'\bid="([^"]*)"', svg))
        assert not identifiers & seen
        assert set(re.findall(r'href="#([^"]*)"', svg)) <= identifiers
        assert set(re.findall(r"url\(#([^)]*)\)", svg)) <= identifiers
        assert drawing.INK not in svg, "colours follow the theme of the page"
        seen |= identifiers


def test_figures_without_records_say_so(tmp_path: Path) -> None:
    with Records(write_records(tmp_path, 1, skip=lambda *_: True) / RECORDS_NAME) as records:
        empty = Facts(records)
    for figure in figures.FIGURES[4:]:
        assert "No records of this experiment" in figures.save(figure, empty, tmp_path)
