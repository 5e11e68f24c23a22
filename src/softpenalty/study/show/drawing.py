"""Drawing on Axes: functions that receive data and an Axes, and compute nothing.

One configuration has one colour everywhere, and dashes or position tell it a second time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from ..design import experiments
from ..design.experiments import LABELS
from ..judge.corner import Path
from ..judge.numbers import power_of_ten
from .figure_data import Box, BoxPanel, Curve, LinePanel, Panel, View

INK, PAPER, GRID, MUTED = "#1c2733", "#ffffff", "#d8dde3", "#6a7683"
COLOURS = {name: light for name, (light, _) in experiments.COLOURS.items()}
_FAMILIES = {
    "linear": MUTED,
    "algebraic": COLOURS["algebraic norm"],
    "softplus": COLOURS["softplus norm"],
    "quadratic": COLOURS["courant-beltrami"],
    **COLOURS,
}
DASHES = ("-", (0, (5, 2)), (0, (1.2, 1.6)))
DIAMOND: dict[str, Any] = {
    "marker": "D",
    "linestyle": "none",
    "markersize": 4.6,
    "color": PAPER,
    "markeredgecolor": INK,
}
_MARKS: dict[str, dict[str, Any]] = {  # rings, and squares that fit into them where two minima meet
    "algebraic": {"marker": "o", "markersize": 9.5, "markerfacecolor": PAPER, "markeredgewidth": 2.0},
    "quadratic": {"marker": "s", "markersize": 4.5},
}
STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.linewidth": 0.8,
    "axes.facecolor": PAPER,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "lines.linewidth": 1.9,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "svg.fonttype": "none",  # text stays text: small files, selectable, read aloud
    "svg.hashsalt": "softpenalty",  # the same figure gives the same file
}
TIP = "tip:"  # marks the group of an artist whose identifier is a text to show on hover
_FEW_DECADES = 300.0  # axes that span less get labels between the powers of ten
_HOVER_POINTS = 24  # per curve


def draw_curves(axes: Axes, panel: Panel) -> None:
    """Draw the curves of a panel with their marked points."""
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label, title=panel.title)
    right = _right_axis(axes, panel) if panel.aside else axes
    places = [right if curve.family == "quadratic" else axes for curve in panel.curves]
    lines = []
    for place, curve in zip(places, panel.curves, strict=True):
        colour = _FAMILIES[curve.family]
        lines += place.plot(
            curve.x, curve.y, color=colour, linestyle=DASHES[curve.variant], label=curve.label
        )
        if curve.mark is not None:
            (dot,) = place.plot(*curve.mark, color=colour, **_MARKS[curve.family], zorder=5)
            _tip(dot, _reading(curve, panel, *curve.mark))
    if panel.y_limit is not None:
        axes.set_ylim(*panel.y_limit)
    if panel.legend is not None:
        axes.legend(handles=lines, loc=panel.legend)
    for place, curve in zip(places, panel.curves, strict=True):
        _hover_points(place, curve, panel)


def _right_axis(axes: Axes, panel: Panel) -> Axes:
    """An axis of its own for Courant-Beltrami, in its colour."""
    right, colour = axes.twinx(), _FAMILIES["quadratic"]
    right.set_ylabel(panel.aside, color=colour)
    right.tick_params(axis="y", colors=colour)
    right.spines["right"].set(visible=True, color=colour)
    right.grid(visible=False)
    if panel.aside_limit is not None:
        right.set_ylim(*panel.aside_limit)
    return right


def draw_lines(axes: Axes, panel: LinePanel) -> None:
    """Draw medians by dimension on logarithmic axes, with the published ones as diamonds."""
    ticks = sorted({float(n) for curve in panel.curves for n in curve.x})
    for curve in panel.curves:
        colour = _FAMILIES[curve.family]
        axes.plot(curve.x, curve.y, color=colour, linestyle=DASHES[curve.variant], label=curve.label)
        for n, median in zip(curve.x.tolist(), curve.y.tolist(), strict=True):
            (dot,) = axes.plot(n, median, "o", color=colour, markersize=4.5, markeredgecolor=PAPER, mew=0.5)
            _tip(dot, f"{curve.label}, N = {n:g}: median {panel.y_label} {median:.3g}")
    for n, median in panel.published:
        (diamond,) = axes.plot(n, median, **DIAMOND, zorder=6)
        _tip(diamond, f"published median at N = {n:g}: {median:g}")
    axes.set(xscale="log", yscale="log", xlabel="dimensions", ylabel=panel.y_label, title=panel.title)
    axes.set_xticks(ticks, [f"{n:g}" for n in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def draw_path(axes: Axes, path: Path, view: View) -> None:
    """Draw contours, feasible wedge and the way of the optimizer, in one of the path's views."""
    low, high = float(view.axis[0]), float(view.axis[-1])
    axes.grid(visible=False)
    axes.locator_params(nbins=4)
    axes.contour(
        view.axis, view.axis, view.values, levels=view.levels, colors=MUTED, linewidths=0.6, linestyles="-"
    )
    wedge = axes.fill([0.0, 0.0, high], [0.0, high, high], color=COLOURS["softplus norm"], alpha=0.13, lw=0)
    _tip(wedge[0], "feasible: U₁ ≥ 0 and U₂ ≥ U₁")
    colour = COLOURS[path.configuration]
    axes.plot(path.points[:, 0], path.points[:, 1], color=colour, linewidth=1.5)
    for step, (x, y) in enumerate(path.points):
        if low <= x <= high and low <= y <= high:
            (dot,) = axes.plot(x, y, "o", color=colour, markersize=5, markeredgecolor=PAPER, mew=0.7)
            _tip(dot, f"iteration {step}: ({x:.3f}, {y:.3f})")
    (star,) = axes.plot(0.0, 0.0, "*", color=INK, markersize=11, markeredgecolor=PAPER, zorder=4)
    _tip(star, "solution (0, 0)")
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal", xlabel="U₁")


def draw_boxes(axes: Axes, panel: BoxPanel) -> None:
    """Draw boxes side by side within each group, with the published medians as diamonds."""
    if not panel.boxes:
        note = "No records of this experiment."
        axes.text(0.5, 0.5, note, ha="center", va="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[], title=panel.title)
        axes.grid(visible=False)
        return
    count = len(panel.configurations)
    width = 0.8 / count
    for box in panel.boxes:
        place = box.group + (panel.configurations.index(box.configuration) - 0.5 * (count - 1)) * width
        _draw_box(axes, panel, box, place, 0.82 * width)
    for guide in panel.guides:
        shift = (panel.configurations.index(guide.family) - 0.5 * (count - 1)) * width
        colour = COLOURS[guide.family]
        axes.plot(guide.x + shift, guide.y, color=colour, linestyle=DASHES[1], linewidth=0.9, zorder=1)
    axes.set_yscale("log")
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label, title=panel.title)
    axes.set_xlim(-0.6, len(panel.groups) - 0.4)
    axes.set_xticks(range(len(panel.groups)), panel.groups)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    for edge in range(len(panel.groups) - 1):
        axes.axvline(edge + 0.5, color=GRID, linewidth=0.7, zorder=0)
    low, high = axes.get_ylim()
    steps = (1.0,) if high > _FEW_DECADES * low else (1.0, 2.0, 5.0)
    axes.yaxis.set_major_locator(LogLocator(subs=steps, numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _draw_box(axes: Axes, panel: BoxPanel, box: Box, place: float, width: float) -> None:
    colour = COLOURS[box.configuration]
    low, first, middle, third, high = box.quantiles
    statistics = {"whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high}
    line = {"color": colour, "linewidth": 1.1}
    drawn = axes.bxp(
        [statistics],
        positions=[place],
        widths=width,
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": translucent(colour), "edgecolor": colour, "linewidth": 1.1},
        whiskerprops=line,
        capprops=line,
        medianprops={"color": INK, "linewidth": 1.8},
    )
    label = f"{LABELS[box.configuration]}, {panel.x_label} {panel.groups[box.group]}"
    digits = ".2e" if panel.quantity == "error" else "g"
    text = (
        f"{label}: median {middle:{digits}}, half of the trials {first:{digits}} to {third:{digits}}, "
        f"nine in ten {low:{digits}} to {high:{digits}} ({box.samples} trials)"
    )
    if box.published is not None:
        text += f"; published median {box.published:{digits}}"
        (diamond,) = axes.plot(place, box.published, **DIAMOND, zorder=6)
        _tip(diamond, text)
    _tip(drawn["boxes"][0], text)


def _hover_points(axes: Axes, curve: Curve, panel: Panel) -> None:
    """Invisible points along a curve that show its values on hover."""
    low, high = axes.get_ylim()
    for index in np.linspace(0, curve.x.size - 1, _HOVER_POINTS).astype(int).tolist():
        x, y = float(curve.x[index]), float(curve.y[index])
        if low <= y <= high:
            (dot,) = axes.plot(x, y, "o", color=_FAMILIES[curve.family], markersize=8, alpha=0.0, zorder=4)
            _tip(dot, _reading(curve, panel, x, y))


def _reading(curve: Curve, panel: Panel, x: float, y: float) -> str:
    return f"{curve.label}: {panel.x_label} {x:.3g}, {panel.y_label} {y:.3g}"


def translucent(colour: str) -> tuple[str, float]:
    """The colour of the inside of a box."""
    return colour, 0.38


def _tip(artist: Artist, text: str) -> None:
    artist.set_gid(TIP + text)
