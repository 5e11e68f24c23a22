"""
A welded beam: what each limit costs
====================================

A bar is welded to a wall and carries 6000 lb at its free end, 14 in away. The
cheapest weld and bar are sought that hold the load: a textbook problem (Ragsdell
and Phillips, 1976) in inches, pounds and dollars, with the usual best cost of
1.7249. No derivatives are given.
"""

import matplotlib.pyplot as plt
import numpy as np

from softpenalty import Constraint, minimize

plt.style.use("softpenalty.figures")
LOAD, ARM, YOUNG, SHEAR = 6000.0, 14.0, 30e6, 12e6  # lb, in, psi, psi


def cost(x):
    weld, length, height, thickness = x
    return 1.10471 * weld**2 * length + 0.04811 * height * thickness * (14 + length)


def shear_stress(x):
    weld, length, height, _ = x
    area, half = np.sqrt(2) * weld * length, (weld + height) / 2
    radius, polar = np.hypot(length / 2, half), 2 * area * (length**2 / 12 + half**2)
    primary, secondary = LOAD / area, LOAD * (ARM + length / 2) * radius / polar
    return np.sqrt(primary**2 + primary * secondary * length / radius + secondary**2)


def bending_stress(x):
    return 6 * LOAD * ARM / (x[3] * x[2] ** 2)


def deflection(x):
    return 4 * LOAD * ARM**3 / (YOUNG * x[2] ** 3 * x[3])


def bar_cost(x):
    return 0.10471 * x[0] ** 2 + 0.04811 * x[2] * x[3] * (14 + x[1])


def buckling_load(x):
    _, _, height, thickness = x
    slender = 1 - height / (2 * ARM) * np.sqrt(YOUNG / (4 * SHEAR))
    return 4.013 * YOUNG * height * thickness**3 / 6 / ARM**2 * slender


# %%
# Each limit is a :class:`softpenalty.Constraint` with a name, a value, an operator
# and a target. The report then speaks of them by name.


def solve(stress=13600.0, bending=30000.0, buckling=LOAD):
    constraints = [
        Constraint(shear_stress, "<", stress, name="shear stress"),
        Constraint(bending_stress, "<", bending, name="bending stress"),
        Constraint(buckling_load, ">", buckling, name="buckling load"),
        Constraint(deflection, "<", 0.25, name="deflection"),
        Constraint(lambda x: x[0] - x[3], "<", 0.0, name="weld - bar"),
        Constraint(bar_cost, "<", 5.0, name="bar cost"),
    ]
    bounds = [(0.125, 2.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0)]
    names = ["weld height", "weld length", "bar height", "bar thickness"]
    start = np.mean(bounds, axis=1)
    return minimize(cost, start, bounds=bounds, constraints=constraints, names=names)


result = solve()
print(result.report())
assert abs(result.fun - 1.724852) < 1e-5  # the textbook's answer

# %%
# The beam from the side, to scale. Its thickness, 0.206 in, is that of the weld.

figure, axes = plt.subplots(figsize=(7, 4.4))
weld, length, height, _ = result.x
axes.fill_between([-1.5, 0], -6.5, 6.5, color="0.75")  # the wall
axes.fill_between([0, length + ARM], -height / 2, height / 2, color="C0", alpha=0.35)
for side in (-1, 1):
    edge = side * height / 2
    axes.fill_between([0, length], edge, edge + side * weld, color="C1")
axes.text(0.3, -5, f"weld: {weld:.3f} in × {length:.2f} in", color="C1", va="top")
axes.text(8, 0, f"bar: {height:.2f} in high", color="C0", ha="center", va="center")
tip = length + ARM
arrow = {"arrowstyle": "->"}
axes.annotate("6000 lb", (tip, height / 2), (tip, 8), ha="center", arrowprops=arrow)
axes.set(aspect="equal", xlabel="in", ylabel="in", ylim=(-7, 9))
axes.set_title(f"The cheapest beam: ${result.fun:.4f}")
plt.show()

# %%
# The multipliers are prices: minus the multiplier is what the cost changes when a
# target rises by one unit. They come with the solution. Solving again with a target
# one per cent higher shows that they are right.

targets = {"shear stress": 13600.0, "bending stress": 30000.0, "buckling load": LOAD}
predicted = [-result.multipliers[name][0] * 0.01 * targets[name] for name in targets]
again = solve(stress=13736.0), solve(bending=30300.0), solve(buckling=6060.0)
solved = [other.fun - result.fun for other in again]
assert np.allclose(predicted, solved, rtol=0.05)  # prices hold to first order

figure, axes = plt.subplots(figsize=(7, 3))
place = np.arange(3)
axes.barh(place + 0.18, 100 * np.array(predicted), 0.34)
axes.barh(place - 0.18, 100 * np.array(solved), 0.34)
axes.text(0.02, 0.18, "predicted by the multiplier", color="C0", va="center")
axes.text(0.02, -0.18, "solved again", color="C1", va="center")
axes.axvline(0.0, color="0.3", lw=0.8)
axes.set_yticks(place, list(targets))
axes.set_xlabel("change of the cost, cents")
axes.set_title("What one per cent more of a limit is worth")
plt.show()

# %%
# ``result.plot()`` shows how the solve went: eleven iterations from the middle of the
# bounds.

result.plot()
plt.show()
