"""Figs. 1–7 of the paper, drawn in one style, with captions, as SVG and PNG.

:mod:`.figure_data` prepares the numbers and :mod:`.drawing` draws them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..design.experiments import LABELS
from ..files import write_whole
from ..judge import corner
from ..judge.facts import Facts
from . import figure_data
from .drawing import (
    COLOURS,
    DASHES,
    DIAMOND,
    GRID,
    INK,
    MUTED,
    PAPER,
    STYLE,
    TIP,
    draw_boxes,
    draw_curves,
    draw_lines,
    draw_path,
    translucent,
)
from .figure_data import BoxPanel
from .tables import css_name

_RESOLUTION = 150  # dots per inch of the PNG


@dataclass(frozen=True)
class FigureOf:
    """One figure of the paper: what it shows, in words, and how it is drawn from the records."""

    name: str
    title: str
    caption: str
    alternative: str
    draw: Callable[[Facts], Figure]


# --------------------------------------------------------------------------------------------- the seven


def _figure_1(_: Facts) -> Figure:
    figure = _blank(10.0, 3.6)
    for axes, panel in zip(figure.subplots(1, 3), figure_data.kernel_panels(), strict=True):
        draw_curves(axes, panel)
        axes.set_ylim(-0.2, 5.6)
    return figure


def _figure_2(_: Facts) -> Figure:
    figure = _blank(8.0, 7.8)
    grid = figure.subplots(2, 1)
    for axes, panel in zip(grid, figure_data.sensitivity_panels(), strict=True):
        draw_curves(axes, panel)
    figure.legend(handles=_curve_handles(grid[0]), loc="outside upper left", ncols=3)
    return figure


def _curve_handles(axes: Axes) -> list[Artist]:
    """The lines of a panel that have a label."""
    return [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]


def _figure_3(_: Facts) -> Figure:
    figure = _blank(8.0, 4.4)
    draw_curves(figure.subplots(), figure_data.normalized_panel())
    return figure


def _figure_4(_: Facts) -> Figure:
    figure = _blank(10.0, 7.0)
    grid = figure.subplots(2, 3, sharey="row")
    for column, path in enumerate(corner.paths()):
        for axes, view in zip(grid[:, column], figure_data.views(path), strict=True):
            draw_path(axes, path, view)
        x, y = (f"{value:.3f}".replace("-", "−") for value in path.end)
        grid[0, column].set_title(f"{LABELS[path.configuration]}\n{path.iterations} iterations")
        grid[1, column].set_title(f"ends at ({x}, {y})", fontweight="normal")
    for axes in grid[:, 0]:
        axes.set_ylabel("U₂")
    return figure


def _figure_5(facts: Facts) -> Figure:
    return _box_figure(figure_data.dimension_panels(facts, "planes"))


def _figure_6(facts: Facts) -> Figure:
    return _box_figure(figure_data.dimension_panels(facts, "spheres"))


def _figure_7(facts: Facts) -> Figure:
    return _box_figure(figure_data.sweep_panels(facts))


def _box_figure(panels: tuple[BoxPanel, BoxPanel]) -> Figure:
    figure = _blank(10.0, 8.4)
    for axes, panel in zip(figure.subplots(2, 1), panels, strict=True):
        draw_boxes(axes, panel)
    handles: list[Artist] = [
        Patch(facecolor=translucent(colour), edgecolor=colour, label=LABELS[name])
        for name, colour in COLOURS.items()
        if any(name in panel.configurations for panel in panels)
    ]
    handles.append(Line2D([], [], color=INK, linewidth=1.8, label="our median"))
    handles.append(Line2D([], [], **DIAMOND, label="published median"))
    if any(panel.guides for panel in panels):
        handles.append(Line2D([], [], color=MUTED, linestyle=DASHES[1], linewidth=0.9, label="law"))
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), handlelength=1.6)
    return figure


def _comparison(experiment: str) -> Callable[[Facts], Figure]:
    """Draws the medians of an experiment beside the fixed configurations."""

    def draw(facts: Facts) -> Figure:
        figure = _blank(10.0, 7.6)
        grid = figure.subplots(2, 2, sharey="row").ravel()
        for axes, panel in zip(grid, figure_data.comparison_panels(facts, experiment), strict=True):
            draw_lines(axes, panel)
        for axes in grid[1::2]:
            axes.set_ylabel("")
        figure.legend(handles=_curve_handles(grid[0]), loc="outside upper left", ncols=3)
        return figure

    return draw


def _summary(facts: Facts) -> Figure:
    figure = _blank(6.0, 4.2)
    axes = figure.subplots()
    draw_lines(axes, figure_data.summary_panel(facts))
    handles = [*_curve_handles(axes), Line2D([], [], **DIAMOND, label="published")]
    axes.legend(handles=handles, loc="upper left")
    return figure


def _blank(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


_BOX_CAPTION = (
    "Boxes hold the middle half of the trials, whiskers nine in ten; the dark line is our median and the "
    "diamond the published one."
)

FIGURES = (
    FigureOf(
        "fig1",
        "Penalty functions and their parameters",
        "Left: the smooth kernels round off the corner of max(0, error). Middle: one kernel serves all three "
        "operators. Right: α sets how wide the corner is.",
        "Three panels of penalty against error from −5 to 5: linear, algebraic and softplus kernels; the "
        "operators less than, equal and greater than; and the algebraic kernel for three values of alpha.",
        _figure_1,
    ),
    FigureOf(
        "fig2",
        "Sensitivity to parameters and gradient",
        "A steeper Courant-Beltrami penalty leaves less error; a steeper algebraic one leaves more, on the "
        "feasible side, unless σ is twice the gradient, where the error vanishes. A smaller α shrinks it in "
        "proportion.",
        "Upper panel: penalty plus objective against error with the minimum of each curve marked. Lower "
        "panel: error left at the minimum against the gradient from 0 to 4.",
        _figure_2,
    ),
    FigureOf(
        "fig3",
        "Normalized error",
        "Error left by each penalty, divided by α, against the gradient divided by σ. Inequalities have no "
        "error at one half and diverge at both ends, softplus only slowly. Courant-Beltrami has no α: its "
        "error is half the ratio itself, in the units of the constraint.",
        "Five curves of normalized error against normalized gradient from 0 to 1: algebraic and softplus, "
        "each for inequality and equality, and Courant-Beltrami on an axis of its own, a straight line.",
        _figure_3,
    ),
    FigureOf(
        "fig4",
        "Convergence of BFGS in a corner",
        "Minimizing 0.2·U₁ + 0.2·U₂ with U₁ ≥ 0 and U₂ ≥ U₁ (shaded) from (−9, −8), σ = 1, α = 0.1. Above "
        "the whole path, below the last steps near the solution (star).",
        "Contours of three penalized functions with the path of the optimizer: Courant-Beltrami stops "
        "outside the feasible wedge, algebraic sum inside it, algebraic norm nearest to the solution.",
        _figure_4,
    ),
    FigureOf(
        "fig5",
        "Sheared hyperplanes by dimension",
        f"Error and iterations of the four configurations. {_BOX_CAPTION}",
        "Box plots of error and of iterations for 2 to 50 dimensions on sheared hyperplanes, four "
        "configurations side by side; the values are in the table.",
        _figure_5,
    ),
    FigureOf(
        "fig6",
        "Hypersphere by dimension",
        f"Error and iterations; with one constraint, norm and sum are the same. {_BOX_CAPTION}",
        "Box plots of error and of iterations for 2 to 50 dimensions on the hypersphere, four configurations "
        "side by side; the values are in the table.",
        _figure_6,
    ),
    FigureOf(
        "fig7",
        "Sensitivity of the error to σ and α",
        "Sheared hyperplanes, N = 12. Dashed: the power laws that the check asks for, over the range where "
        "they hold, and for softplus against σ a straight line in log₂ σ. "
        f"{_BOX_CAPTION} The paper's table gives one median on these axes.",
        "Box plots of error by sigma from 10 to 1e7 for four configurations, and by alpha from 1e-7 to 0.1 "
        "for three; the slopes are in the text.",
        _figure_7,
    ),
)

COMPARISONS = {
    "balance": FigureOf(
        "fig-balance",
        "Balance beside fixed parameters",
        "Medians on the same problems. Dashed: σ is twice the multiplier, the corner 300 times softer.",
        "Four panels of median distance and median iterations against 2 to 50 dimensions, on hyperplanes and "
        "on the hypersphere, for balance and for the fixed configurations; the values are in the tables.",
        _comparison("balance"),
    ),
    "solvers": FigureOf(
        "fig-solvers",
        "Solvers made for constraints beside fixed penalties",
        "Medians on the same problems. Dashed: solvers with exact derivatives.",
        "Four panels of median distance and median iterations against 2 to 50 dimensions, on hyperplanes and "
        "on the hypersphere: softpenalty.minimize and SLSQP beside the four fixed penalties.",
        _comparison("solvers"),
    ),
}
SUMMARY = FigureOf(
    "summary",
    "Iterations by dimension",
    "Lines are our medians, diamonds the published ones.",
    "Median iterations on sheared hyperplanes against 2 to 50 dimensions, on logarithmic axes: those of "
    "Courant-Beltrami grow fastest; the values are in the table.",
    _summary,
)


# --------------------------------------------------------------------------------------------------- files


def save(figure_of: FigureOf, facts: Facts, folder: Path) -> str:
    """Draw one figure, write it as SVG and PNG into `folder`, and return the SVG's text."""
    with mpl.rc_context(STYLE):
        figure = figure_of.draw(facts)
        pixels = io.BytesIO()
        figure.savefig(pixels, format="png", dpi=_RESOLUTION)
        figure.set_layout_engine("none")  # the places found for the PNG serve the SVG
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Title": figure_of.title})
    svg = with_tips(text.getvalue())
    write_whole(folder / f"{figure_of.name}.png", pixels.getvalue())
    write_whole(folder / f"{figure_of.name}.svg", svg.encode())
    return svg


def with_tips(svg: str) -> str:
    """Turn the identifiers that hold a text into SVG titles, which browsers show on hover."""
    return re.sub(rf'<g id="{TIP}([^"]*)">', r'<g class="tip"><title>\1</title>', svg)


def inline(svg: str, name: str) -> str:
    """Make an SVG fit for a page: no prolog, identifiers of its own, and colours that follow the theme."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var({variable})")
    return re.sub(
        r'<svg[^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', body, count=1
    )


_VARIABLES = {INK: "--ink", PAPER: "--paper", GRID: "--grid", MUTED: "--muted"} | {
    colour: f"--{css_name(name)}" for name, colour in COLOURS.items()
}
"""CSS variable of each colour, so that a dark page can show lighter ones."""
