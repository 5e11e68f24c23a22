"""
Packing circles, and the forces between them
============================================

Ten equal circles in a unit square, as large as possible. There are many arrangements that small moves do
not improve; :func:`softpenalty.search` looks for the best of them. The best known radius is 0.148204.
"""

import matplotlib.pyplot as plt
import numpy as np

from softpenalty import Constraint, search

plt.style.use("softpenalty.figures")
N, BEST_KNOWN = 10, 0.148204322565
first, second = np.triu_indices(N, 1)

# %%
# The variables are x and y of every centre, and the radius. No pair overlaps and no circle leaves the
# square: two constraints with a vector of values each, and their derivatives.


def gaps(z):
    x, y = z[:N], z[N : 2 * N]
    return np.hypot(x[first] - x[second], y[first] - y[second]) - 2 * z[-1]


def gaps_jacobian(z):
    x, y, pair = z[:N], z[N : 2 * N], np.arange(first.size)
    apart = np.array([x[first] - x[second], y[first] - y[second]])
    dx, dy = apart / np.hypot(*apart)
    J = np.zeros((first.size, z.size))
    J[pair, first], J[pair, second], J[pair, N + first], J[pair, N + second] = dx, -dx, dy, -dy
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
result = search(lambda z: -z[-1], bounds, constraints, jac=lambda z: growth, max_solves=40, rng=0)

# %%
# ``minima`` holds all arrangements that were found, best first.

radii = np.array([-minimum.fun for minimum in result.minima])
print(f"{result.solves} solves, {radii.size} arrangements, radii from {radii[-1]:.6f} to {radii[0]:.6f}")
assert abs(radii[0] - BEST_KNOWN) < 1e-8

# %%
# The multipliers have a meaning here: imagine that the circles swell. Then the multiplier of each gap is
# the force with which the two circles press on each other. The forces hold the balance on every circle,
# and a circle without any is loose.

force = -result.multipliers["gap"]
push = result.multipliers["gap"] @ gaps_jacobian(result.x) + result.multipliers["wall"] @ walls
assert np.abs(push[: 2 * N]).max() < 1e-5  # the balance

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.6))
x, y, radius = result.x[:N], result.x[N : 2 * N], result.x[-1]
for i in range(N):
    pressed = force[(first == i) | (second == i)].max() > 1e-6
    left.add_patch(plt.Circle((x[i], y[i]), radius, color="C0" if pressed else "0.6", alpha=0.35, lw=0))
for i, j, pressure in zip(first, second, force, strict=True):
    if pressure > 1e-6:
        left.plot(x[[i, j]], y[[i, j]], color="C1", lw=1 + 40 * pressure, solid_capstyle="round")
left.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 1], yticks=[0, 1])
left.set_title("The best packing; a thick line is a large force")
left.spines[["top", "right"]].set_visible(True)
found = np.array([minimum.nfev for minimum in result.minima])
right.plot(found, radii, "o", color="C0")
right.axhline(BEST_KNOWN, color="0.4", lw=1)
right.text(
    0.98,
    BEST_KNOWN + 1e-4,
    "best known",
    color="0.4",
    ha="right",
    va="bottom",
    transform=right.get_yaxis_transform(),
)
right.set(
    xlabel="evaluations until it was found",
    ylabel="radius",
    title="All arrangements found",
    ylim=(None, 0.1487),
)
plt.show()
