"""
Packing circles, and the forces between them
============================================

Ten equal circles in a unit square, as large as possible. There are many
arrangements that small moves do not improve; :func:`softpenalty.search` looks for
the best of them. The best known radius is 0.148204.
"""

import matplotlib.pyplot as plt
import numpy as np

from softpenalty import Constraint, search

plt.style.use("softpenalty.figures")
N, BEST_KNOWN = 10, 0.148204322565
first, second = np.triu_indices(N, 1)

# %%
# The variables are x and y of every centre, and the radius. No pair overlaps and no
# circle leaves the square: two constraints with a vector of values each, and their
# derivatives.


def gaps(z):
    x, y = z[:N], z[N : 2 * N]
    return np.hypot(x[first] - x[second], y[first] - y[second]) - 2 * z[-1]


def gaps_jacobian(z):
    x, y, pair = z[:N], z[N : 2 * N], np.arange(first.size)
    apart = np.array([x[first] - x[second], y[first] - y[second]])
    dx, dy = apart / np.maximum(np.hypot(*apart), 1e-12)  # even where centres meet
    J = np.zeros((first.size, z.size))
    J[pair, first], J[pair, second] = dx, -dx
    J[pair, N + first], J[pair, N + second] = dy, -dy
    J[:, -1] = -2.0
    return J


eye, column = np.eye(2 * N), np.ones((2 * N, 1))
walls, edge = np.block([[eye, -column], [-eye, -column]]), np.repeat([0.0, 1.0], 2 * N)
constraints = [
    Constraint(gaps, ">", 0.0, jac=gaps_jacobian, name="gap"),
    Constraint(lambda z: walls @ z + edge, ">", 0.0, jac=lambda z: walls, name="wall"),
]
growth = np.append(np.zeros(2 * N), -1.0)  # the derivative of −radius
bounds = [(0.0, 1.0)] * (2 * N) + [(0.01, 0.3)]
result = search(
    lambda z: -z[-1], bounds, constraints, jac=lambda z: growth, max_solves=40, rng=0
)

# %%
# ``minima`` holds all arrangements that were found, best first.

radii = np.array([-minimum.fun for minimum in result.minima])
print(f"{result.solves} solves, {result.nfev} evaluations, {radii.size} arrangements")
print(f"radii from {radii[-1]:.6f} to {radii[0]:.6f}")
assert abs(radii[0] - BEST_KNOWN) < 1e-8

# %%
# The multipliers have a meaning here: imagine that the circles swell. Then the
# multiplier of each gap is the force with which the two circles press on each other.
# The forces hold the balance on every circle, and a circle without any is loose.

force = -result.multipliers["gap"]
push = result.multipliers["wall"] @ walls - force @ gaps_jacobian(result.x)
assert np.abs(push[: 2 * N]).max() < 1e-5  # the balance

figure, axes = plt.subplots(figsize=(5.6, 5.2))
x, y, radius = result.x[:N], result.x[N : 2 * N], result.x[-1]
for centre in zip(x, y, strict=True):
    axes.add_patch(plt.Circle(centre, radius, color="C0", alpha=0.35, lw=0))
for i, j, pressure in zip(first, second, force, strict=True):
    if pressure > 1e-6:
        width = 1 + 40 * pressure
        axes.plot(x[[i, j]], y[[i, j]], color="C1", lw=width, solid_capstyle="round")
axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 1], yticks=[0, 1])
axes.set_title("The best packing: the thicker a line, the larger the force")
axes.spines[["top", "right"]].set_visible(True)
plt.show()

# %%
# When each arrangement was found: the best one early, and often, as it has mirror
# images.

figure, axes = plt.subplots(figsize=(7, 3.6))
axes.plot([minimum.nfev for minimum in result.minima], radii, "o")
axes.axhline(BEST_KNOWN, color="0.4", lw=1)
axes.text(0, BEST_KNOWN + 1e-4, "best known", color="0.4", va="bottom")
axes.set(xlabel="evaluations until it was found", ylabel="radius", ylim=(None, 0.1487))
axes.set_title("All arrangements found")
plt.show()
