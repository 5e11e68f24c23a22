"""
A curve that must not fall
==========================

A sensor's calibration: readings at known temperatures, with scatter. The
characteristic is known to rise everywhere, but a polynomial of degree eleven
follows the scatter up and down and cannot be inverted. The least-squares fit whose
slope is nowhere negative can.
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import expit

from softpenalty import Constraint, minimize

plt.style.use("softpenalty.figures")
DEGREE = 11
random = np.random.default_rng(4)
temperature = np.linspace(0.0, 100.0, 40)  # °C


def true_curve(celsius):
    return (
        1.0 + 2.0 * expit((celsius - 30.0) / 4.0) + 0.8 * expit((celsius - 80.0) / 3.0)
    )


voltage = true_curve(temperature) + 0.2 * random.standard_normal(40)

# %%
# The variables are the coefficients of Chebyshev polynomials. One
# :class:`softpenalty.Constraint` holds a whole vector: the slope at 101 temperatures.
# It is linear, and so its derivative is the matrix itself.


def scaled(celsius):
    return celsius / 50.0 - 1.0


basis = chebyshev.chebvander(scaled(temperature), DEGREE)
grid = np.linspace(0.0, 100.0, 101)
derivative = chebyshev.chebder(np.eye(DEGREE + 1)) / 50.0
slope = chebyshev.chebvander(scaled(grid), DEGREE - 1) @ derivative  # V/K
rising = Constraint(lambda c: slope @ c, ">", 0.0, jac=lambda c: slope, name="slope")


def misfit(c):
    return np.sum((basis @ c - voltage) ** 2)


def misfit_gradient(c):
    return 2 * basis.T @ (basis @ c - voltage)


free = np.linalg.lstsq(basis, voltage)[0]
result = minimize(misfit, free, jac=misfit_gradient, constraints=rising)
assert result.success and np.all(slope @ result.x > -1e-6)
print(f"sum of squares: {misfit(free):.4f} free, {result.fun:.4f} rising")

# %%
# The fit touches slope 0 at a few temperatures only: there the multipliers are not
# zero, and tell how much the data pull against the constraint. Everywhere else the
# constraint costs nothing. The rising fit is nearer to the true curve, too (with
# other scatter, in three of four cases).

pull = -result.multipliers["slope"]
at = grid[pull > 1e-6 * pull.max()]
print("held at", at, "°C")
fine = np.linspace(0.0, 100.0, 501)
curves = np.array([chebyshev.chebval(scaled(fine), c) for c in (free, result.x)])
off = np.sqrt(np.mean((curves - true_curve(fine)) ** 2, axis=1))
print(f"from the true curve: {off[0]:.3f} V free, {off[1]:.3f} V rising")
assert off[1] < off[0]

figure, axes = plt.subplots(figsize=(7, 4.2))
axes.plot(temperature, voltage, "o", color="0.6", ms=5)
axes.plot(fine, true_curve(fine), ":", color="0.3", lw=1.5)
axes.plot(fine, curves[0], color="C1")
axes.plot(fine, curves[1], color="C0")
axes.plot(at, np.interp(at, fine, curves[1]), "|", color="C0", ms=16, mew=2)
axes.text(93, 3.3, "free", color="C1")
axes.text(31, 1.8, "rising", color="C0")
axes.text(24.5, 1.15, "true", color="0.3")
axes.text(57, 2.2, "ticks: slope held at 0", color="C0", fontsize=9)
axes.set(xlabel="temperature, °C", ylabel="reading, V")
axes.set_title("Least squares, free and rising")
plt.show()
