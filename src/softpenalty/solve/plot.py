"""The history of a solve as a figure, in the colours of the current style, light or dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..extras import install_hint
from ..types import Array

__all__ = ["draw"]

# Told apart by the colour-blind too; the second set is for dark backgrounds.
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b4488a", "#8a6d00", "#5a4fcf")
DARK = ("#5bb8f0", "#ff9a52", "#35d6a4", "#f29ccb", "#f0c94a", "#b3a9ff")
GREY = "#8d949b"  # of what is not active, on either background
DECADE = 10.0  # an axis that spans less is linear: a logarithmic one would look the same, with fewer ticks
FLAT = 1e-12  # smallest multiplier that the axis resolves, relative to the largest
LINEAR_SHARE = 0.1  # of the smallest active multiplier: the linear part of the symmetric logarithmic axis
MOST_LABELS = 12
LONGEST = 30  # characters of a label
APART = 0.075  # least distance of two labels, in heights of an axes
DOTS = 60  # iterations up to which each is marked
LEADER = {"arrowstyle": "-", "lw": 0.6, "shrinkA": 0, "shrinkB": 0, "relpos": (0.0, 0.5)}  # curve to label
MARGIN = 0.06  # of a height, above and below the curves


def draw(result: Mapping[str, Any], axes: Any = None) -> Any:
    """Draw objective, violation with stationarity, and multipliers on three Axes; return their figure."""
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as missing:
            raise ImportError(
                f"`Result.plot()` needs matplotlib: {install_hint('study')}, or pass your own `axes`."
            ) from missing
        figure, axes = pyplot.subplots(
            3, 1, sharex=True, figsize=(8, 7.5), layout="constrained", height_ratios=(1.0, 1.1, 1.5)
        )
        figure.suptitle(_title(result), x=0.01, ha="left")
    history, titles = result["history"], ("objective", "relative residuals", "multipliers")
    for each, title in zip(axes, titles, strict=True):
        each.set_title(title, loc="left", fontsize="medium")
        each.spines[["top", "right"]].set_visible(False)
    axes[2].set_xlabel("iteration")
    axes[2].xaxis.get_major_locator().set_params(integer=True)
    if history:
        colours = DARK if _is_light(axes[0].title.get_color()) else LIGHT
        _objective(axes[0], history, colours[0])
        _residuals(axes[1], history, colours)
        _multipliers(axes[2], history, result, colours)
    return axes[0].figure


def _title(result: Mapping[str, Any]) -> str:
    verdict = result["message"].partition(":")[0].partition(". ")[0].rstrip(".")
    count = result["nit"]
    return f"{verdict}: objective {result['fun']:.6g} after {count} iteration{'' if count == 1 else 's'}"


def _objective(axes: Any, history: Any, colour: str) -> None:
    values = history.column("fun")
    _curve(axes, history, values, colour)
    finite = np.abs(values[np.isfinite(values)])
    if finite.size and finite.max() > DECADE * finite.min():
        if (values > 0.0).all():
            axes.set_yscale("log")
        else:
            axes.set_yscale("symlog", linthresh=float(np.median(finite)) or 1.0)
    _label(axes, [(float(values[-1]), f"{values[-1]:.6g}", colour)])


def _residuals(axes: Any, history: Any, colours: Sequence[str]) -> None:
    columns = {name: history.column(name) for name in ("violation", "stationarity")}
    seen = np.concatenate(list(columns.values()))
    seen = seen[np.isfinite(seen) & (seen > 0.0)]
    low, high = (seen.min(), seen.max()) if seen.size else (0.1, 1.0)
    bottom = low / DECADE  # zero is drawn there
    axes.set_yscale("log")
    axes.set_ylim(bottom / DECADE, DECADE * high)
    labels = []
    for (name, values), colour in zip(columns.items(), (colours[1], colours[0]), strict=True):
        shown = np.where(values > 0.0, values, bottom)
        _curve(axes, history, shown, colour)
        labels.append((float(shown[-1]), f"{name} {values[-1]:.1g}", colour))
    _label(axes, labels)


def _multipliers(axes: Any, history: Any, result: Mapping[str, Any], colours: Sequence[str]) -> None:
    columns, active = history.column("multipliers").T, set(result["active"])
    if not len(columns):
        axes.text(0.5, 0.5, "no constraints", color=GREY, ha="center", va="center", transform=axes.transAxes)
        return
    final, names = np.abs(columns[:, -1]), result["labels"]
    largest = float(np.abs(columns[np.isfinite(columns)]).max(initial=0.0))
    held = [i for i in np.argsort(-final, kind="stable") if names[i] in active and final[i] > FLAT * largest]
    for i in set(range(len(columns))) - set(held):
        _curve(axes, history, columns[i], GREY, thin=True)
    labels = []
    for place, i in enumerate(held):
        colour = colours[place % len(colours)]
        _curve(axes, history, columns[i], colour)
        labels.append((float(columns[i, -1]), f"{_cut(names[i])}: {columns[i, -1]:.3g}", colour))
    if largest:
        smallest = final[held].min() if held else largest
        axes.set_yscale("symlog", linthresh=max(LINEAR_SHARE * smallest, FLAT * largest))
    rest = len(columns) - min(len(held), MOST_LABELS)
    if len(held) > MOST_LABELS:
        labels[MOST_LABELS:] = [(0.0, f"and {rest} more", GREY)]
    elif rest:
        labels.append((0.0, f"{rest} not active", GREY))
    _label(axes, labels)


def _curve(axes: Any, history: Any, values: Array, colour: str, thin: bool = False) -> None:
    marker = "." if len(history) <= DOTS and not thin else None
    alone = "." if len(history) == 1 else marker
    width = 0.8 if thin else 1.6
    axes.plot(history.column("nit"), values, color=colour, marker=alone, lw=width, zorder=1 if thin else 2)


def _label(axes: Any, labels: list[tuple[float, str, str]]) -> None:
    """Write texts beside the ends of their curves, from top to bottom, none over another."""
    axes.margins(y=MARGIN)
    axes.autoscale_view()
    to_height = axes.transData + axes.transAxes.inverted()
    x_end = axes.get_lines()[0].get_xdata()[-1]
    ends = [
        float(to_height.transform((x_end, value))[1]) if np.isfinite(value) else 0.0 for value, *_ in labels
    ]
    order = sorted(range(len(labels)), key=lambda i: -ends[i])
    places = _spread([ends[i] for i in order])
    for i, place in zip(order, places, strict=True):
        _, text, colour = labels[i]
        axes.annotate(
            text, (1.0, ends[i]), (1.03, place), xycoords="axes fraction", textcoords="axes fraction",
            color=colour, fontsize="small", va="center", annotation_clip=False,
            arrowprops=LEADER | {"color": colour},
        )  # fmt: skip


def _spread(heights: list[float]) -> list[float]:
    """Falling heights moved apart, around where they are."""
    places: list[list[float]] = []  # clusters: wanted heights of their members
    for height in heights:
        places.append([height])
        while len(places) > 1 and _top(places[-1]) > _top(places[-2]) - APART * len(places[-2]):
            last = places.pop()
            places[-1] += last
    return [_top(cluster) - APART * i for cluster in places for i in range(len(cluster))]


def _top(cluster: list[float]) -> float:
    """Height of the first label of a cluster, which is centred on its members if there is room above."""
    return min(sum(cluster) / len(cluster) + 0.5 * APART * (len(cluster) - 1), 1.0)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _is_light(colour: Any) -> bool:
    """Whether text of this colour is meant for a dark background."""
    from matplotlib.colors import to_rgb

    return float(np.mean(to_rgb(colour))) > 0.5
