"""
A robot arm around an obstacle
==============================

A planar arm of three links has to bring its hand from one place to another past a pillar. The path is 25
postures, three joint angles each; the smoothest motion of the joints is sought that keeps every link
clear of the pillar, with a limit on the speed of the joints.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import NonlinearConstraint

from softpenalty import Constraint, minimize

plt.style.use("softpenalty.figures")
LENGTHS, STEPS = np.array([1.0, 0.8, 0.5]), 25  # m
START, TARGET = np.array([-0.3, 0.5, 0.4]), np.array([-1.1, 1.2])  # rad; m
PILLAR, RADIUS, CLEARANCE = np.array([0.75, 1.35]), 0.25, 0.35  # m: clearance is from the middle
SPEED = 0.13  # rad a step at most: an arm that jumps could pass through the pillar between two postures
ALONG = np.linspace(0.0, 1.0, 5)[1:]  # places on each link that are watched


def joints(angles):
    """Return the places of shoulder, elbow, wrist and hand, (..., 4, 2), for joint angles (..., 3)."""
    heading = np.cumsum(angles, axis=-1)
    links = LENGTHS[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    places = np.cumsum(links, axis=-2)
    return np.concatenate([0 * places[..., :1, :], places], axis=-2)


# %%
# The hand's place at the end is an equality with two values; clearance is an inequality with 12 values a
# posture. Derivatives are left to ``jac="cs"``: a complex step gives them to the last digit, as long as
# the functions do nothing but arithmetic. That is why the distance is written as a square root of squares.


def postures(x):
    return np.vstack([START, x.reshape(STEPS - 1, 3)])


def motion(x):
    return STEPS * np.sum(np.diff(postures(x), axis=0) ** 2)


def hand(x):
    return joints(x[-3:])[-1]


def distance(x):
    places = joints(x.reshape(-1, 3))
    on_links = places[:, :-1, None] + ALONG[:, None] * np.diff(places, axis=1)[:, :, None]
    return np.sqrt(np.sum((on_links - PILLAR) ** 2, axis=-1)).ravel()


def steps(x):
    return np.diff(postures(x), axis=0).ravel()


constraints = [
    Constraint(hand, "=", TARGET, jac="cs", name="hand"),
    Constraint(distance, ">", CLEARANCE, jac="cs", name="clearance"),
    NonlinearConstraint(steps, -SPEED, SPEED, jac="cs"),  # SciPy's forms are taken too
]
halfway, end = [0.9, 1.6, 0.8], [2.0, 0.5, 0.5]  # a rough guess: fold the arm, then stretch it
guess = np.vstack([np.linspace(START, halfway, 13), np.linspace(halfway, end, 13)[1:]])[1:].ravel()
result = minimize(motion, guess, jac="cs", constraints=constraints)
print(result.message)
print(f"effort {motion(guess):.2f} → {result.fun:.2f} in {result.nit} iterations")
assert result.success and np.allclose(hand(result.x), TARGET, atol=1e-6)

# %%
# A check that the constraints did not see: between the postures, too, no link touches the pillar.

fine = np.arange(0.0, STEPS - 0.99, 0.1)
between = np.stack([np.interp(fine, np.arange(STEPS), angle) for angle in postures(result.x).T], axis=-1)
assert distance(between.ravel()).min() > RADIUS

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(1.25, 1))
colors = plt.get_cmap("viridis")(np.linspace(0, 0.92, STEPS))
left.add_patch(plt.Circle(PILLAR, RADIUS, color="0.5"))
left.add_patch(plt.Circle(PILLAR, CLEARANCE, fill=False, ls="--", color="0.5"))
left.text(*PILLAR, "pillar", color="w", ha="center", va="center")
for color, places in zip(colors, joints(postures(result.x)), strict=True):
    left.plot(*places.T, color=color, lw=1.5)
    left.plot(*places[-1], "o", color=color, ms=5)
left.plot(*TARGET, "k+", ms=14)
left.text(2.0, -0.1, "start", color=colors[0])
left.text(TARGET[0], TARGET[1] + 0.12, "target", ha="center")
left.set(aspect="equal", xlabel="m", ylabel="m", title="Every posture, from dark to light")
for label, x, color, place in (
    ("first guess", guess, "C1", (14, 0.85)),
    ("solution", result.x, "C0", (17.2, 0.42)),
):
    nearest = distance(x).reshape(STEPS - 1, -1).min(axis=1)
    right.plot(np.arange(1, STEPS), nearest, "o-", color=color, ms=4)
    right.text(*place, label, color=color)
right.axhline(CLEARANCE, color="0.5", ls="--", lw=1)
right.set(
    xlabel="posture", ylabel="nearest link, m", ylim=(0, None), title="Distance from the pillar's middle"
)
plt.show()
