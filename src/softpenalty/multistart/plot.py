"""A search as a figure; receives data and Axes and computes nothing but what to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..extras import install_hint
from .minima import Minimum

__all__ = ["draw"]

SMALL, LARGE = 10.0, 200.0  # areas of markers, in points²: at least, and what the most frequent one has more
SHOWN = 50  # minima whose place is drawn at most


def draw(minima: Sequence[Minimum], nfev: int, axes: Any = None) -> Any:
    """Draw minima (best first) against evaluations, their values and their places on three Axes."""
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as missing:
            raise ImportError(
                f"`SearchResult.plot()` needs matplotlib: {install_hint('study')}, or pass your own `axes`."
            ) from missing
        _, axes = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    if not minima:
        return axes
    _draw_found(axes[0], minima, nfev)
    _draw_values(axes[1], minima)
    _draw_places(axes[2], minima[:SHOWN])
    return axes


def _draw_found(axis: Any, minima: Sequence[Minimum], nfev: int) -> None:
    by_time = sorted(minima, key=lambda minimum: minimum.nfev)
    when = [0, *(minimum.nfev for minimum in by_time), nfev]
    axis.step(when, [*range(len(minima) + 1), len(minima)], where="post", label="distinct minima")
    axis.axvline(minima[0].nfev, color="C1", lw=1, ls="--", label="the best one found")
    axis.set(xlabel="evaluations", ylabel="minima found", title="Minima against evaluations", ylim=(0, None))
    axis.legend(fontsize="small")


def _draw_values(axis: Any, minima: Sequence[Minimum]) -> None:
    rank = np.arange(1, len(minima) + 1)
    values, counts = np.array([m.fun for m in minima]), np.array([m.count for m in minima])
    areas = SMALL + LARGE * counts / counts.max()
    passed = np.array([m.success for m in minima])
    for chosen, fill, label in ((passed, "C0", "passed the test"), (~passed, "none", "did not pass it")):
        if chosen.any():
            axis.scatter(
                rank[chosen], values[chosen], areas[chosen], facecolors=fill, edgecolors="C0",
                alpha=0.7, label=label,
            )  # fmt: skip
    axis.margins(0.08)
    axis.set(xlabel="minima, best first", ylabel="objective", title="Their values; area: times found")
    if not passed.all():
        axis.legend(fontsize="small")


def _draw_places(axis: Any, minima: Sequence[Minimum]) -> None:
    from matplotlib import colormaps

    colours = colormaps["viridis"](np.linspace(0.0, 0.9, len(minima)))
    variables = np.arange(minima[0].unit.size)
    for minimum, colour in reversed(list(zip(minima, colours, strict=True))):
        axis.plot(variables, minimum.unit, color=colour, lw=1, alpha=0.6, marker=".", ms=4)
    axis.plot(variables, minima[0].unit, color="C1", lw=2, marker="o", ms=4, label="best")
    axis.set(
        xlabel="free variable", ylabel="between its bounds", ylim=(-0.03, 1.03), title="Where they lie",
        xticks=variables if variables.size <= 12 else variables[::5],
    )  # fmt: skip
    axis.legend(fontsize="small")
