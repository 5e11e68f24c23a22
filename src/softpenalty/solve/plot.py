"""The history of a solve as a figure; receives data and Axes and computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import install_hint

if TYPE_CHECKING:
    from .result import History

__all__ = ["draw"]

FLOOR = 1e-16  # shown in place of zero on the logarithmic axis
LABELLED = 8  # multipliers named in the legend at most


def draw(history: History, labels: Sequence[str], axes: Any = None) -> Any:
    """Draw objective, violation and multipliers over the iterations on three Axes, and return them."""
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as missing:
            raise ImportError(
                f"`Result.plot()` needs matplotlib: {install_hint('study')}, or pass your own `axes`."
            ) from missing
        _, axes = pyplot.subplots(3, 1, sharex=True, figsize=(6, 7), layout="constrained")
    if not history:
        return axes
    iterations = history.column("nit")
    axes[0].plot(iterations, history.column("fun"), marker=".")
    axes[0].set_ylabel("objective")
    for column, label in (("maxcv", "violation"), ("stationarity", "stationarity")):
        axes[1].plot(iterations, np.maximum(history.column(column), FLOOR), marker=".", label=label)
    axes[1].set_yscale("log")
    axes[1].legend()
    for i, column in enumerate(history.column("multipliers").T):
        axes[2].plot(iterations, column, marker=".", label=labels[i] if i < LABELLED else None)
    if labels:
        axes[2].legend(fontsize="small")
    axes[2].set_ylabel("multipliers")
    axes[2].set_xlabel("iteration")
    return axes
