"""
Swinging up a pendulum
======================

A pendulum hangs at rest, and a motor too weak to lift it straight has to bring it
to rest upside down within four seconds. Which torque does it with the least effort?
The motion is cut into 60 steps, and the laws of motion become equality constraints:
optimal control by direct transcription.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import Bounds

from softpenalty import Constraint, minimize

plt.style.use("softpenalty.figures")
GRAVITY, TORQUE, DURATION, STEPS = 9.81, 5.0, 4.0, 60  # for 1 kg at 1 m: N m, N m, s
h, times = DURATION / STEPS, np.linspace(0.0, DURATION, STEPS + 1)


def unpack(z):
    """Return angle (rad, 0 hangs), speed (rad/s) and torque (N m) at all times."""
    return z.reshape(3, STEPS + 1)


# %%
# The trapezoidal rule links neighbouring times. These are 2 · 60 equality
# constraints, whose derivatives have a simple pattern.

now, next_one = np.eye(STEPS, STEPS + 1), np.eye(STEPS, STEPS + 1, 1)
mean, change = (next_one + now) / 2, next_one - now


def motion(z):
    angle, speed, torque = unpack(z)
    acceleration = torque - GRAVITY * np.sin(angle)
    return np.concatenate(
        [change @ angle - h * mean @ speed, change @ speed - h * mean @ acceleration]
    )


def motion_jacobian(z):
    angle, _, _ = unpack(z)
    zero = np.zeros_like(mean)
    pull = h * GRAVITY * mean * np.cos(angle)
    return np.block([[change, -h * mean, zero], [pull, change, -h * mean]])


# %%
# Start and end are bounds: the angle goes from 0 to π, with no speed at either end.
# The torque's limit is a bound too.

low = np.repeat([[-7.0], [-15.0], [-TORQUE]], STEPS + 1, axis=1)
high = -low
low[:2, 0] = high[:2, 0] = 0.0
low[:2, -1] = high[:2, -1] = np.pi, 0.0
weights = np.full(STEPS + 1, h)
weights[[0, -1]] = h / 2


def effort(z):
    return weights @ unpack(z)[2] ** 2


def effort_gradient(z):
    return np.concatenate([np.zeros(2 * (STEPS + 1)), 2 * weights * unpack(z)[2]])


def solve(guess):
    result = minimize(
        effort,
        guess.ravel(),
        jac=effort_gradient,
        bounds=Bounds(low.ravel(), high.ravel()),
        constraints=Constraint(motion, "=", 0.0, jac=motion_jacobian, name="motion"),
    )
    assert result.success, result.message
    return result


# %%
# There is more than one way up, and a solver finds one near its start: a straight
# line from bottom to top leads up after one swing, a guess that rocks the pendulum in
# its own rhythm after two. Two take less effort.


def swing(torque_at):
    """Return angle and speed, (2, STEPS + 1), under a torque that varies."""

    def law(t, y):
        return [y[1], torque_at(t) - GRAVITY * np.sin(y[0])]

    how = {"t_eval": times, "max_step": h / 4, "rtol": 1e-8}
    return solve_ivp(law, (0.0, DURATION), [0.0, 0.0], **how).y


line = np.array([np.pi * times / DURATION, 0 * times, 0 * times])
rocking = TORQUE * np.sign(np.sin(np.sqrt(GRAVITY) * times))
rocked = np.vstack([swing(lambda t: np.interp(t, times, rocking)), rocking])
once, twice = solve(line), solve(rocked)
print(f"effort {once.fun:.2f} N²m²s after one swing, {twice.fun:.2f} after two")
print(f"{once.x.size} variables, {once.nit} and {twice.nit} iterations")
assert twice.fun < once.fun

# %%
# A check by an independent integration under the torque that was found: the pendulum
# arrives at the top.

angle, speed, torque = unpack(twice.x)
arrived = swing(lambda t: np.interp(t, times, torque))[:, -1]
print(f"angle at the end {np.degrees(arrived[0]):.1f}°, speed {arrived[1]:.2f} rad/s")
assert abs(np.degrees(arrived[0]) - 180.0) < 6.0  # the trapezoidal rule's own error

figure, axes = plt.subplots(figsize=(5.6, 5.2))
colors = plt.get_cmap("viridis")(np.linspace(0, 0.92, STEPS + 1))
for a, color in zip(angle, colors, strict=True):
    axes.plot([0, np.sin(a)], [0, -np.cos(a)], color=color, lw=0.8)
    axes.plot(np.sin(a), -np.cos(a), "o", color=color, ms=7)
axes.set(aspect="equal", xlabel="m", ylabel="m")
axes.set_title("Up after two swings, from dark to light")
plt.show()

# %%
# Both ways in time. The first one needs all the torque that there is.

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True)
for result, color in (once, "C1"), (twice, "C0"):
    above.plot(times, np.degrees(unpack(result.x)[0]), color=color)
    below.plot(times, unpack(result.x)[2], color=color)
above.text(0.9, 110, "one swing", color="C1")
above.text(2.75, 30, "two swings", color="C0")
above.set(ylabel="angle, °", yticks=[-90, 0, 90, 180], title="Angle (180° is the top)")
below.set(xlabel="time, s", ylabel="torque, N m", title="Torque and its limits")
for limit in (-TORQUE, TORQUE):
    below.axhline(limit, color="0.5", ls="--", lw=1)
plt.show()
