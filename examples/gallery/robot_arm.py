"""
A robot arm around an obstacle
==============================

A planar arm of three links has to bring its hand from one place to another past a
pillar. The path is 25 postures, three joint angles each; the smoothest motion of
the joints is sought that keeps every link clear of the pillar, with a limit on the
speed of the joints.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import NonlinearConstraint

from softpenalty import Constraint, minimize

plt.style.use("softpenalty.figures")
LENGTHS, STEPS = np.array([1.0, 0.8, 0.5]), 25  # m
START, TARGET = np.array([-0.3, 0.5, 0.4]), np.array([-1.1, 1.2])  # rad; m
PILLAR, RADIUS, CLEARANCE = np.array([0.75, 1.35]), 0.25, 0.35  # m, from the middle
SPEED = 0.13  # rad a step at most: an arm that jumps could pass through the pillar
ALONG = np.linspace(0.0, 1.0, 5)[1:]  # places on each link that are watched


def joints(angles):
    """Return shoulder, elbow, wrist and hand, (..., 4, 2), for angles (..., 3)."""
    heading = np.cumsum(angles, axis=-1)
    links = LENGTHS[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    places = np.cumsum(links, axis=-2)
    return np.concatenate([0 * places[..., :1, :], places], axis=-2)


# %%
# The hand's place at the end is an equality with two values; clearance is an
# inequality with 12 values a posture. Derivatives are left to ``jac="cs"``: a complex
# step gives them to the last digit, as long as the functions do nothing but
# arithmetic. That is why the distance is written as a square root of squares.


def postures(x):
    return np.vstack([START, x.reshape(STEPS - 1, 3)])


def motion(x):
    return STEPS * np.sum(np.diff(postures(x), axis=0) ** 2)


def hand(x):
    return joints(x[-3:])[-1]


def distance(x):
    places = joints(x.reshape(-1, 3))
    links = np.diff(places, axis=1)
    on_links = places[:, :-1, None] + ALONG[:, None] * links[:, :, None]
    return np.sqrt(np.sum((on_links - PILLAR) ** 2, axis=-1)).ravel()


def steps(x):
    return np.diff(postures(x), axis=0).ravel()


constraints = [
    Constraint(hand, "=", TARGET, jac="cs", name="hand"),
    Constraint(distance, ">", CLEARANCE, jac="cs", name="clearance"),
    NonlinearConstraint(steps, -SPEED, SPEED, jac="cs"),  # SciPy's forms are taken too
]
folded, stretched = [0.9, 1.6, 0.8], [2.0, 0.5, 0.5]  # a rough guess of the motion
fold, stretch = np.linspace(START, folded, 13), np.linspace(folded, stretched, 13)
guess = np.vstack([fold[1:], stretch[1:]]).ravel()
result = minimize(motion, guess, jac="cs", constraints=constraints)
print(result.message)
print(f"effort {motion(guess):.2f} → {result.fun:.2f} in {result.nit} iterations")
assert result.success and np.allclose(hand(result.x), TARGET, atol=1e-6)

# %%
# A check that the constraints did not see: between the postures, too, no link touches
# the pillar.

fine = np.arange(0.0, STEPS - 0.99, 0.1)
angles = [np.interp(fine, np.arange(STEPS), angle) for angle in postures(result.x).T]
assert distance(np.transpose(angles).ravel()).min() > RADIUS

figure, axes = plt.subplots(figsize=(7, 4.6))
colors = plt.get_cmap("viridis")(np.linspace(0, 0.92, STEPS))
axes.add_patch(plt.Circle(PILLAR, RADIUS, color="0.5"))
axes.add_patch(plt.Circle(PILLAR, CLEARANCE, fill=False, ls="--", color="0.5"))
axes.text(*PILLAR, "pillar", color="w", ha="center", va="center")
for color, places in zip(colors, joints(postures(result.x)), strict=True):
    axes.plot(*places.T, color=color, lw=1.5)
    axes.plot(*places[-1], "o", color=color, ms=5)
axes.plot(*TARGET, "k+", ms=14)
axes.text(2.0, -0.1, "start", color=colors[0])
axes.text(TARGET[0], TARGET[1] + 0.12, "target", ha="center")
axes.set(aspect="equal", xlabel="m", ylabel="m")
axes.set_title("Every posture, from dark to light")
plt.show()

# %%
# The first guess ran into the pillar. No start has to be feasible.

figure, axes = plt.subplots(figsize=(7, 3.6))
for label, x, color, place in (
    ("first guess", guess, "C1", (14.5, 0.9)),
    ("solution", result.x, "C0", (18, 0.42)),
):
    nearest = distance(x).reshape(STEPS - 1, -1).min(axis=1)
    axes.plot(np.arange(1, STEPS), nearest, "o-", color=color, ms=4)
    axes.text(*place, label, color=color)
axes.axhline(CLEARANCE, color="0.5", ls="--", lw=1)
axes.text(18, CLEARANCE - 0.03, "clearance asked for", color="0.4", va="top")
axes.set(xlabel="posture", ylabel="m", ylim=(0, None))
axes.set_title("Distance of the nearest link from the pillar's middle")
plt.show()
