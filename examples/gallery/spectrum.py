"""
What is in the mixture: regression with constraints
===================================================

The absorption spectrum of a mixture is the sum of those of its substances, weighted
by their fractions. Four of them overlap, and the measurement is noisy: plain least
squares finds a negative fraction and a sum that is not one, which cannot be.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import LinearConstraint, nnls

from softpenalty import minimize

plt.style.use("softpenalty.figures")
NAMES = ["A", "B", "C", "D"]
TRUE = np.array([0.55, 0.0, 0.30, 0.15])
wavelength = np.linspace(400.0, 700.0, 121)  # nm


def band(centre, width):
    return np.exp(-(((wavelength - centre) / width) ** 2))


spectra = np.array(
    [
        band(500, 50) + 0.3 * band(620, 30),
        band(508, 52) + 0.25 * band(615, 35),
        band(560, 60),
        0.8 * band(450, 40) + 0.5 * band(550, 70),
    ]
).T
random = np.random.default_rng(28)  # a draw that shows the trouble clearly
measured = spectra @ TRUE + 0.03 * random.standard_normal(wavelength.size)

# %%
# Fractions are not negative (bounds) and add up to one (SciPy's ``LinearConstraint``,
# which is taken as it is, like every other form that SciPy knows).

plain = np.linalg.lstsq(spectra, measured)[0]
result = minimize(
    lambda c: np.sum((spectra @ c - measured) ** 2) / 2,
    np.full(4, 0.25),
    jac=lambda c: spectra.T @ (spectra @ c - measured),
    bounds=[(0.0, 1.0)] * 4,
    constraints=LinearConstraint(np.ones(4), 1.0, 1.0),
    names=NAMES,
)
print(result.report())

# %%
# A check with another method: non-negative least squares with the sum as a heavily
# weighted row.

heavy = 1e6
other, _ = nnls(np.vstack([spectra, heavy * np.ones(4)]), np.append(measured, heavy))
assert result.success and np.allclose(result.x, other, atol=1e-6)
for label, c in ("plain", plain), ("constrained", result.x), ("true", TRUE):
    print(f"{label:<12} {c.round(3)} sum {c.sum():.3f}")

figure, axes = plt.subplots(figsize=(7, 4.2))
axes.plot(wavelength, measured, ".", color="0.6")
axes.plot(wavelength, spectra @ result.x, color="k", lw=1.5)
for i, name in enumerate(NAMES):
    part = spectra[:, i] * result.x[i]
    peak = np.argmax(spectra[:, i])
    axes.plot(wavelength, part, color=f"C{i}")
    axes.text(wavelength[peak], part[peak] + 0.02, name, color=f"C{i}", ha="center")
axes.set(xlabel="wavelength, nm", ylabel="absorbance")
axes.set_title("The mixture (dots: measured, black: fitted) and its parts")
plt.show()

# %%
# Plain least squares trades A against B, whose spectra are nearly the same. With
# other noise a fraction is negative in a third of all cases, mostly by less than
# here; the constrained fit is nearer to the truth in four of five.

figure, axes = plt.subplots(figsize=(7, 3.6))
place = np.arange(4)
axes.bar(place - 0.2, plain, 0.38, color="0.75")
axes.bar(place + 0.2, result.x, 0.38, color=[f"C{i}" for i in range(4)])
axes.hlines(TRUE, place - 0.42, place + 0.42, color="k")
axes.axhline(0.0, color="0.3", lw=0.8)
axes.set_xticks(place, NAMES)
axes.set(xlabel="substance", ylabel="fraction")
axes.set_title("Grey: plain fit; coloured: with constraints; black: true")
plt.show()
