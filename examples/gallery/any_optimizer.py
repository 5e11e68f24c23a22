"""
Constraints for CMA-ES and others that know none
================================================

The cheapest can: least sheet, with a rim that costs extra, for a volume of at least
330 cm³ and a height of at most 7 cm. Four optimizers that know nothing of
constraints get the same function, objective + penalty. BFGS uses its exact
gradient; Nelder-Mead, differential evolution and CMA-ES only compare values.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import differential_evolution, minimize

from softpenalty import Constraint, penalize, recommend

plt.style.use("softpenalty.figures")


def cost(x):
    """Return the cost of a can, x in cm, or of a whole population x (2, S)."""
    radius, height = x
    return 2 * np.pi * radius**2 + 2 * np.pi * radius * height + 10 * np.pi * radius


def volume(x):
    return np.pi * x[0] ** 2 * x[1]


# %%
# How heavy, how sharp? :func:`softpenalty.recommend` needs a guess of what one unit
# of each limit is worth, and the error that you accept: about 1 per cm³ of volume, 10
# per cm of height, each within a factor of 2.

big = recommend(gradient=1.0, tolerance=0.1, operator=">", factor=2.0)
low = recommend(gradient=10.0, tolerance=0.001, operator="<", factor=2.0)
constraints = [
    Constraint(volume, ">", 330.0, name="volume", sigma=big.sigma, alpha=big.alpha),
    Constraint(
        lambda x: x[1], "<", 7.0, name="height", sigma=low.sigma, alpha=low.alpha
    ),
]
penalty = penalize(cost, constraints)
populations = penalize(cost, constraints, vectorized=True)  # (2, S) in one call

# %%
# ``penalty`` is called like any function. ``watched`` keeps the points.

tried = {}


def watched(name, function):
    tried[name] = []

    def call(x):
        tried[name].extend(np.atleast_2d(x.T).copy())
        return function(x)

    return call


def with_scipy(method, **how):
    return minimize(watched(method, penalty), start, method=method, **how).x


start = [2.5, 4.0]
points = {
    "BFGS": with_scipy("BFGS", jac=penalty.gradient),
    "Nelder-Mead": with_scipy("Nelder-Mead"),
    "differential evolution": differential_evolution(
        watched("differential evolution", populations),
        [(1, 9), (1, 9)],
        vectorized=True,
        updating="deferred",
        seed=1,
        polish=False,
        tol=1e-8,
    ).x,
}
try:
    import cma
except ImportError:
    print("CMA-ES: not installed (pip install cma)")
else:
    settings = {"seed": 1, "verbose": -9, "verb_log": 0}
    points["CMA-ES"] = cma.fmin2(watched("CMA-ES", penalty), start, 0.5, settings)[0]

# %%
# All four find the can that fits both limits exactly: 7 cm high, and as wide as 330
# cm³ need.

best = np.array([np.sqrt(330 / np.pi / 7), 7.0])
for name, x in points.items():
    print(f"{name:<24} radius {x[0]:.4f} height {x[1]:.4f} cost {cost(x):.3f}")
    assert np.allclose(x, best, atol=2e-3)

figure, axes = plt.subplots(2, 2, figsize=(7.5, 6), sharex=True, sharey=True)
grid = np.array(np.meshgrid(np.linspace(1, 6, 200), np.linspace(1, 9, 200)))
values = populations(grid.reshape(2, -1)).reshape(grid[0].shape)
levels, allowed = np.geomspace(340, 2000, 14), (volume(grid) > 330) & (grid[1] < 7)
for i, (each, name) in enumerate(zip(axes.flat, points, strict=False)):
    each.contour(*grid, values, levels=levels, colors="0.8", linewidths=0.7)
    each.contourf(*grid, allowed, levels=[0.5, 1], colors=["0.5"], alpha=0.2)
    each.plot(*np.array(tried[name]).T, ".", color=f"C{i}", ms=4)
    each.plot(*best, "k+", ms=12)
    each.text(4.4, 6.4, "allowed", color="0.4")
    each.set(xlim=(1, 6), ylim=(1, 9), title=f"{name}: {len(tried[name])} points")
figure.supxlabel("radius, cm")
figure.supylabel("height, cm")
plt.show()

# %%
# At the point that was found, the penalty judges itself: are the errors those
# predicted, is sigma enough?

print(penalty.report(points["BFGS"], tolerance=[0.1, 0.001]))
