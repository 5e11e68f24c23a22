"""
A welded beam: what each limit costs
====================================

A bar is welded to a wall and carries 6000 lb at its free end, 14 in away. The cheapest weld and bar are
sought that hold the load: a textbook problem (Ragsdell and Phillips, 1976) in inches, pounds and
dollars, with the usual best cost of 1.7249. No derivatives are given.
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
    radius = np.hypot(length / 2, (weld + height) / 2)
    polar = 2 * np.sqrt(2) * weld * length * (length**2 / 12 + ((weld + height) / 2) ** 2)
    primary, secondary = LOAD / (np.sqrt(2) * weld * length), LOAD * (ARM + length / 2) * radius / polar
    return np.sqrt(primary**2 + primary * secondary * length / radius + secondary**2)


def buckling_load(x):
    _, _, height, thickness = x
    slender = 1 - height / (2 * ARM) * np.sqrt(YOUNG / (4 * SHEAR))
    return 4.013 * YOUNG * height * thickness**3 / 6 / ARM**2 * slender


# %%
# Each limit is a :class:`softpenalty.Constraint` with a name, a value, an operator and a target. The
# report then speaks of them by name.


def solve(stress=13600.0, bending=30000.0, buckling=LOAD):
    constraints = [
        Constraint(shear_stress, "<", stress, name="shear stress"),
        Constraint(lambda x: 6 * LOAD * ARM / (x[3] * x[2] ** 2), "<", bending, name="bending stress"),
        Constraint(buckling_load, ">", buckling, name="buckling load"),
        Constraint(lambda x: 4 * LOAD * ARM**3 / (YOUNG * x[2] ** 3 * x[3]), "<", 0.25, name="deflection"),
        Constraint(lambda x: x[0] - x[3], "<", 0.0, name="weld - bar"),
        Constraint(
            lambda x: 0.10471 * x[0] ** 2 + 0.04811 * x[2] * x[3] * (14 + x[1]), "<", 5.0, name="bar cost"
        ),
    ]
    bounds = [(0.125, 2.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0)]
    names = ["weld height", "weld length", "bar height", "bar thickness"]
    start = np.mean(bounds, axis=1)
    return minimize(cost, start, bounds=bounds, constraints=constraints, names=names)


result = solve()
print(result.report())
assert abs(result.fun - 1.724852) < 1e-5  # the textbook's answer

# %%
# The multipliers are prices: minus the multiplier is what the cost changes when a target rises by one
# unit. They come with the solution. Solving again with a target one per cent higher shows that they are
# right.

targets = {"stress": 13600.0, "bending": 30000.0, "buckling": LOAD}
names = ["shear stress", "bending stress", "buckling load"]
predicted = [-result.multipliers[n][0] * 0.01 * t for n, t in zip(names, targets.values(), strict=True)]
solved = [solve(**{which: 1.01 * target}).fun - result.fun for which, target in targets.items()]
assert np.allclose(predicted, solved, rtol=0.05)  # prices hold to first order

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), width_ratios=(1, 1.1))
weld, length, height, _ = result.x
left.fill_between([-1.5, 0], -6.5, 6.5, color="0.75")  # the wall
left.fill_between([0, length + ARM], -height / 2, height / 2, color="C0", alpha=0.35)
for side in (-1, 1):
    left.fill_between([0, length], side * height / 2, side * (height / 2 + weld), color="C1")
left.text(length + 0.3, -height / 2 - 0.2, f"weld {weld:.3f} × {length:.2f} in", color="C1", va="top")
left.text((length + ARM) / 2, 0, f"bar, {height:.2f} in high", color="C0", ha="center", va="center")
left.annotate(
    "6000 lb", (length + ARM, height / 2), (length + ARM, 7.5), ha="center", arrowprops={"arrowstyle": "->"}
)
left.set(aspect="equal", xlabel="in", ylabel="in", title=f"The cheapest beam: ${result.fun:.4f}")
place = np.arange(3)
right.barh(place + 0.18, 100 * np.array(predicted), 0.34)
right.barh(place - 0.18, 100 * np.array(solved), 0.34)
right.text(0.02, 0.18, "predicted by the multiplier", color="C0", va="center")
right.text(0.02, -0.18, "solved again", color="C1", va="center")
right.axvline(0.0, color="0.3", lw=0.8)
right.set_yticks(place, names)
right.set(xlabel="change of the cost, cents", title="What one per cent more of a limit is worth")
plt.show()

# %%
# ``result.plot()`` shows how the solve went: eleven iterations from the middle of the bounds.

result.plot()
plt.show()
