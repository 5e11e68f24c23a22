"""Draw the pictures of README and docs, with the library itself: `make pictures`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from softpenalty import KERNELS, Constraint, penalize, predicted_error, search

IMAGES = Path(__file__).parent / "images"
COLOURS = {"quadratic": "#D55E00", "algebraic": "#0072B2", "softplus": "#009E73", "linear": "#555555"}


def draw_corner(axes: plt.Axes) -> None:
    """Paths of BFGS into an acute corner: the paper's Fig. 4."""
    constraints = [
        Constraint(lambda x: -x[0], "<", jac=lambda x: np.array([-1.0, 0.0])),
        Constraint(
            lambda x: (x[0] - x[1]) / np.sqrt(2), "<", jac=lambda x: np.array([1.0, -1.0]) / np.sqrt(2)
        ),
    ]
    grid = np.linspace(-10, 4, 200), np.linspace(-10, 6, 200)
    u, v = np.meshgrid(*grid)
    axes.fill_between([0, 4], [0, 4], 6, color="#009E73", alpha=0.12, lw=0)
    axes.contour(u, v, u + v, levels=12, colors="#bbbbbb", linewidths=0.6)
    axes.text(0.45, 5.2, "feasible", color="#00664b", fontsize=9)
    for kernel, combination in (("quadratic", "sum"), ("algebraic", "sum"), ("algebraic", "norm")):
        p = penalize(
            lambda x: 0.2 * x.sum(), constraints, jac=lambda x: np.full(2, 0.2),
            kernel=kernel, combination=combination, sigma=1.0, alpha=0.1,
        )  # fmt: skip
        path = [np.array([-9.0, -8.0])]
        minimize(
            p, path[0], jac=p.gradient, method="BFGS", callback=lambda x, path=path: path.append(x.copy())
        )
        points = np.array(path)
        axes.plot(
            *points.T,
            marker="o",
            color=COLOURS[kernel],
            ls="--" if combination == "norm" else "-",
            ms=3,
            lw=1.4,
            label=f"{KERNELS[kernel].label}{'' if kernel == 'quadratic' else ' ' + combination}",
        )
    axes.plot(0, 0, "k*", ms=11, label="solution", zorder=5)
    axes.set(xlim=(-10, 4), ylim=(-10, 6), xlabel="x[0]", ylabel="x[1]", title="BFGS into an acute corner")
    axes.legend(fontsize=8, loc="lower right")


def bird(x: np.ndarray) -> np.ndarray:
    """Mishra's function, of docs/search.md."""
    a, b = x
    return np.sin(b) * np.exp((1 - np.cos(a)) ** 2) + np.cos(a) * np.exp((1 - np.sin(b)) ** 2) + (a - b) ** 2


def draw_search() -> None:
    """The minima of docs/search.md: where they are, and the first two panels of their plot."""
    disk = Constraint(lambda x: (x[0] + 5) ** 2 + (x[1] + 5) ** 2, "<", 25.0, name="disk")
    result = search(bird, [(-10, 0), (-6.5, 0)], disk, rng=0)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    unused, hidden = plt.subplots()
    result.plot([middle, right, hidden])
    plt.close(unused)
    grid = np.meshgrid(np.linspace(-10, 0, 300), np.linspace(-6.5, 0, 300))
    left.contourf(*grid, bird(np.array(grid)), levels=20, cmap="Greys_r", alpha=0.6)
    angle = np.linspace(0, 2 * np.pi, 300)
    left.plot(5 * np.cos(angle) - 5, 5 * np.sin(angle) - 5, color=COLOURS["softplus"], lw=2, label="disk")
    points = np.array([minimum.x for minimum in result.minima])
    left.plot(*points.T, "o", color=COLOURS["algebraic"], label="minima")
    left.plot(*points[0], "*", ms=16, color=COLOURS["quadratic"], label="best")
    left.set(xlim=(-10, 0), ylim=(-6.5, 0), xlabel="x[0]", ylabel="x[1]", title="Minima of a bird in a disk")
    left.legend(fontsize=8, loc="upper left")
    figure.savefig(IMAGES / "search.png", dpi=110)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")

    error = np.linspace(-3, 3, 601)
    for name in ("linear", "quadratic", "algebraic", "softplus"):
        style = {"color": COLOURS[name], "label": KERNELS[name].label, "lw": 2 if name != "linear" else 1.2}
        left.plot(error, KERNELS[name].value(error, 0.5), ls=":" if name == "linear" else "-", **style)
    left.set(
        xlabel="error = value − target",
        ylabel="penalty",
        ylim=(-0.1, 3),
        title="Penalty functions (alpha = 0.5)",
    )
    left.legend(fontsize=8)

    fraction = np.linspace(1e-3, 0.999, 500)
    for name in ("quadratic", "algebraic", "softplus"):
        middle.plot(fraction, predicted_error(fraction, 1.0, 0.1, "<", name), color=COLOURS[name], lw=2,
                    label=KERNELS[name].label)  # fmt: skip
    middle.axvline(0.5, color="#999999", lw=0.8, ls=":")
    middle.text(0.51, 0.565, "sigma = 2 · gradient:\nno error left", fontsize=9, color="#333333", va="top")
    middle.set(xlabel="gradient / sigma", ylabel="error that is left", ylim=(0, 0.6),
               title="The error, known in advance (alpha = 0.1)")  # fmt: skip
    middle.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.3, 1.0))

    draw_corner(right)
    figure.savefig(IMAGES / "overview.png", dpi=110)
    draw_search()


if __name__ == "__main__":
    main()
