"""
What is in the mixture: regression with constraints
===================================================

The absorption spectrum of a mixture is the sum of those of its substances, weighted by their fractions.
Four of them overlap, and the measurement is noisy: plain least squares finds a negative fraction and a
sum that is not one. Chemistry knows better.
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
measured = spectra @ TRUE + 0.03 * np.random.default_rng(28).standard_normal(wavelength.size)

# %%
# Fractions are not negative (bounds) and add up to one (SciPy's ``LinearConstraint``, which is taken as it
# is, like every other form that SciPy knows).

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
# A check with another method: non-negative least squares with the sum as a heavily weighted row.

heavy = 1e6
other, _ = nnls(np.vstack([spectra, heavy * np.ones(4)]), np.append(measured, heavy))
assert result.success and np.allclose(result.x, other, atol=1e-6)
for label, c in ("plain", plain), ("constrained", result.x), ("true", TRUE):
    print(f"{label:<12}", " ".join(f"{value:7.3f}" for value in c), f"  sum {c.sum():.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), width_ratios=(1.4, 1))
left.plot(wavelength, measured, ".", color="0.6")
left.plot(wavelength, spectra @ result.x, color="k", lw=1.5)
for i, name in enumerate(NAMES):
    left.plot(wavelength, spectra[:, i] * result.x[i], color=f"C{i}")
    peak = np.argmax(spectra[:, i] * (wavelength < 590))
    left.text(wavelength[peak], spectra[peak, i] * result.x[i] + 0.02, name, color=f"C{i}", ha="center")
left.set(xlabel="wavelength, nm", ylabel="absorbance", title="The mixture and its parts")
place = np.arange(4)
right.bar(place - 0.2, plain, 0.38, color="0.75")
right.bar(place + 0.2, result.x, 0.38, color=[f"C{i}" for i in range(4)])
right.hlines(TRUE, place - 0.42, place + 0.42, color="k")
right.axhline(0.0, color="0.3", lw=0.8)
right.set_xticks(place, NAMES)
right.set(xlabel="substance", ylabel="fraction", title="grey: plain fit, black: true")
plt.show()
