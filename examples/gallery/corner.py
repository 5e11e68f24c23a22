"""
Into a corner: sum and norm
===========================

The paper's Fig. 4. The objective 0.2 u + 0.2 v falls towards the lower left, and
two constraints, u > 0 and v > u, meet at the origin, the solution, at an acute
angle. BFGS minimizes three penalties: Courant-Beltrami's quadratic one, and the
algebraic one with its terms summed or combined by the Euclidean norm.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from softpenalty import Constraint, penalize

plt.style.use("softpenalty.figures")
normals = np.array([[1.0, 0.0], [-np.sqrt(0.5), np.sqrt(0.5)]])
corner = Constraint(lambda x: normals @ x, ">", 0.0, jac=lambda x: normals)


def penalty(kernel, combination):
    return penalize(
        lambda x: 0.2 * (x[0] + x[1]),
        corner,
        jac=lambda x: np.full(2, 0.2),
        kernel=kernel,
        combination=combination,
        sigma=1.0,
        alpha=0.1,
        vectorized=True,
    )


# %%
# :func:`softpenalty.penalize` makes one function of objective and constraints, with
# its exact gradient. Any optimizer takes it; its path is kept here.

PENALTIES = {  # label: the penalty, its colour
    "Courant-Beltrami, sum": (penalty("quadratic", "sum"), "C1"),
    "algebraic, sum": (penalty("algebraic", "sum"), "C0"),
    "algebraic, norm": (penalty("algebraic", "norm"), "C2"),
}
paths = {}
for label, (p, _) in PENALTIES.items():
    path = paths[label] = [np.array([-9.0, -8.0])]
    minimize(p, path[0], jac=p.gradient, method="BFGS", callback=path.append)
    off, errors = np.linalg.norm(path[-1]), p.errors(path[-1])
    print(f"{label:<22} ends {off:.3f} from the solution; errors {errors.round(3)}")

# %%
# The quadratic penalty converges quickly, but far from the corner: it has no slope at
# its target. The smooth penalties balance the objective close to it. The norm rounds
# the corner off, which makes for a steady path.

figure, axes = plt.subplots(figsize=(7, 5))
axes.fill_between([0, 4], [0, 4], 5, color="0.5", alpha=0.15, lw=0)
axes.text(0.15, 4.4, "feasible", color="0.4")
arrow = {"arrowstyle": "->", "color": "0.4"}
axes.annotate(
    "objective falls", (0.6, -8.4), (1.2, -7.0), color="0.4", arrowprops=arrow
)
for label, (_, color) in PENALTIES.items():
    steps, off = len(paths[label]) - 1, np.linalg.norm(paths[label][-1])
    text = f"{label}: {steps} iterations, {off:.2f} off"
    axes.plot(*np.array(paths[label]).T, "o-", color=color, ms=4, label=text)
axes.plot(0, 0, "k+", ms=14)
axes.set(xlim=(-10, 4), ylim=(-10, 5), xlabel="u", ylabel="v")
axes.set_title("BFGS into the corner")
axes.legend(loc="upper left")
plt.show()

# %%
# What BFGS saw: objective + penalty around the corner. The contours of the sum bend
# sharply where a constraint begins to count, and steps overshoot there; those of the
# norm are round.

grid = np.array(np.meshgrid(np.linspace(-3, 3, 151), np.linspace(-3, 3, 151)))
levels = np.geomspace(0.01, 5, 14)
figure, panels = plt.subplots(1, 3, figsize=(9, 3.6), sharey=True)
for each, (label, (p, color)) in zip(panels, PENALTIES.items(), strict=True):
    height = p(grid.reshape(2, -1)).reshape(grid[0].shape)
    above = height - height.min()
    each.contour(*grid, above, levels=levels, colors="0.7", linewidths=1)
    each.plot(*paths[label][-1], "o", color=color)
    each.plot(0, 0, "k+", ms=14)
    each.set(aspect="equal", xlabel="u", title=label)
panels[0].set_ylabel("v")
plt.show()

# %%
# A sum holds while sigma exceeds every multiplier, a norm while it exceeds their
# Euclidean length. The multipliers follow from the gradients: the corner asks for 0.4
# and 0.28, which sigma = 1 exceeds either way.

multipliers = np.linalg.solve(normals.T, [0.2, 0.2])
print("multipliers at the corner:", multipliers, "length:", np.linalg.norm(multipliers))
quadratic, by_sum, by_norm = (np.linalg.norm(path[-1]) for path in paths.values())
assert by_norm < by_sum < quadratic
