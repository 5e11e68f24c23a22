"""Figures: performance profiles and cost against size. They receive numbers and draw, nothing else."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from .peers import OURS, PEERS

LARGEST_RATIO = 64.0
# Okabe and Ito's colours, told apart by colour-blind readers too; the dashes help in print. Ours are thick.
STYLES = {
    "softpenalty": ("#0072B2", "-"),
    "softpenalty-exact": ("#0072B2", (0, (5, 1.5))),
    "softpenalty-multiplier": ("#0072B2", (0, (1, 1.2))),
    "softpenalty-penalty": ("#0072B2", (0, (4, 1.5, 1, 1.5))),
    "slsqp": ("#D55E00", "-"),
    "nlopt-slsqp": ("#D55E00", (0, (5, 1.5))),
    "ipopt": ("#009E73", "-"),
    "ipopt-exact": ("#009E73", (0, (5, 1.5))),
    "uno": ("#CC79A7", (0, (5, 1.5))),
    "trust-constr": ("#E69F00", "-"),
    "nlopt-auglag": ("#56B4E9", "-"),
    "augmented": ("#000000", (0, (1, 1.2))),
    "courant-beltrami": ("#888888", (0, (1, 1.2))),
}


def draw_profile(axes: Axes, ratios: dict[str, np.ndarray], cost: str) -> None:
    """Draw performance profiles.

    Parameters
    ----------
    ratios
        Sorted cost ratios of each solver, infinite where it failed.
    cost
        What the cost is, for the axis label.
    """
    heights = {}
    for solver, values in ratios.items():
        x = np.concatenate([[1.0], values[values <= LARGEST_RATIO], [LARGEST_RATIO]])
        y = 100.0 * np.searchsorted(values, x, side="right") / len(values)
        heights[solver] = y[-1]
        color, dashes = STYLES.get(solver, ("#888888", "-"))
        ours = solver.startswith(OURS)
        axes.plot(
            x,
            y,
            drawstyle="steps-post",
            color=color,
            linestyle=dashes,
            linewidth=2.4 if ours else 1.4,
            zorder=3 if ours else 2,
            label=PEERS[solver].label,
        )
    axes.set_xscale("log", base=2)
    axes.set_xlim(1.0, LARGEST_RATIO)
    axes.set_ylim(0.0, 100.0)
    ticks = 2.0 ** np.arange(0, np.log2(LARGEST_RATIO) + 1)
    axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
    axes.set_xlabel(f"{cost}, as a multiple of the best solver's on that problem")
    axes.set_ylabel("problems solved within it, %")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    order = np.argsort([-heights[solver] for solver in ratios], kind="stable")
    axes.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        fontsize=8.5,
        handlelength=3.2,
    )


def draw_scaling(axes: Axes, times: dict[str, dict[int, float]]) -> None:
    """Draw own CPU milliseconds per iteration against the number of variables."""
    for solver, found in times.items():
        color, dashes = STYLES.get(solver, ("#888888", "-"))
        width = 2.4 if solver.startswith(OURS) else 1.4
        axes.plot(
            list(found),
            list(found.values()),
            color=color,
            linestyle=dashes,
            linewidth=width,
            marker="o",
            markersize=4,
            label=PEERS[solver].label,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = sorted({n for found in times.values() for n in found})
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()
    axes.set_xlabel("variables")
    axes.set_ylabel("own CPU time per iteration, ms")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8.5)


def save(path: Path, draw, *arguments, size: tuple[float, float] = (8.2, 4.4)) -> None:
    """Draw on new axes and save as SVG and PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context({"svg.hashsalt": "softpenalty", "font.size": 9.5, "svg.fonttype": "path"}):
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        draw(axes, *arguments)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=150)
        plt.close(figure)


DATA_STYLES = {
    "softpenalty": ("#0072B2", "-"),
    "SciPy COBYLA": ("#D55E00", "-"),
    "COBYQA": ("#009E73", (0, (5, 1.5))),
    "NLopt COBYLA": ("#CC79A7", (0, (4, 1.5, 1, 1.5))),
    "SLSQP (steps √noise)": ("#888888", (0, (1, 1.2))),
}


def save_data_profiles(
    path: Path, budgets: np.ndarray, curves: dict[tuple[float, float], dict[str, list[float]]]
) -> None:
    """Draw data profiles, a panel for each (noise, τ), and save them as SVG and PNG.

    Parameters
    ----------
    budgets
        Simulations/(n + 1).
    curves
        By noise and τ, per cent of runs solved by every solver within each of the budgets.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context({"svg.hashsalt": "softpenalty", "font.size": 9.5, "svg.fonttype": "path"}):
        rows = (len(curves) + 3) // 3
        figure, panels = plt.subplots(
            rows, 3, figsize=(8.2, 2.6 * rows), layout="constrained", sharey=True, squeeze=False
        )
        for axes, ((level, tau), found) in zip(panels.flat, curves.items(), strict=False):
            for solver, shares in found.items():
                color, dashes = DATA_STYLES[solver]
                ours = solver.startswith(OURS)
                axes.plot(
                    budgets, shares, drawstyle="steps-post", color=color, linestyle=dashes, label=solver,
                    linewidth=2.4 if ours else 1.4, zorder=3 if ours else 2,
                )  # fmt: skip
            axes.set_title(f"noise {level:g}, τ = {tau:g}", fontsize=9.5)
            axes.set_xlim(0.0, budgets[-1])
            axes.set_ylim(0.0, 100.0)
            axes.grid(color="#dddddd", linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
        handles, labels = panels.flat[0].get_legend_handles_labels()
        for axes in panels.flat[len(curves) :]:
            axes.set_axis_off()
        panels.flat[len(curves)].legend(
            handles, labels, loc="center", frameon=False, fontsize=8.5, handlelength=3.2
        )
        figure.supxlabel("simulations/(n + 1)", fontsize=9.5)
        figure.supylabel("runs with a point within τ, %", fontsize=9.5)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=150)
        plt.close(figure)
