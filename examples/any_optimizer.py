"""One penalized problem, four optimizers that know nothing of constraints.

The cheapest can: least surface, with a rim that costs extra, for a volume of at least 330 cm³ and a height
of at most 7 cm. BFGS uses the exact gradient; Nelder-Mead, differential evolution and CMA-ES only compare
values.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import differential_evolution, minimize

from softpenalty import Constraint, penalize, recommend


def cost(x):
    """Return the cost of a can of radius x[0] and height x[1] in cm; x may hold a whole population (2, S)."""
    radius, height = x
    return 2 * np.pi * radius**2 + 2 * np.pi * radius * height + 10 * np.pi * radius


# A first guess of the gradients: about 1 per cm³ of volume, 10 per cm of height, each within a factor 2.
volume_choice = recommend(gradient=1.0, tolerance=0.1, operator=">", factor=2.0)
height_choice = recommend(gradient=10.0, tolerance=0.001, operator="<", factor=2.0)
constraints = [
    Constraint(
        lambda x: np.pi * x[0] ** 2 * x[1], ">", 330.0, name="volume",
        sigma=volume_choice.sigma, alpha=volume_choice.alpha,
    ),
    Constraint(lambda x: x[1], "<", 7.0, name="height", sigma=height_choice.sigma, alpha=height_choice.alpha),
]  # fmt: skip

start = [3.0, 5.0]
penalty = penalize(cost, constraints)
populations = penalize(cost, constraints, vectorized=True)

points = {
    "BFGS": minimize(penalty, start, jac=penalty.gradient, method="BFGS").x,
    "Nelder-Mead": minimize(penalty, start, method="Nelder-Mead", options={"maxiter": 1000}).x,
    "differential evolution": differential_evolution(
        populations, [(1, 9), (1, 9)], vectorized=True, updating="deferred", seed=1, polish=False, tol=1e-8
    ).x,
}
try:
    import cma
except ImportError:
    print("CMA-ES: not installed (pip install cma)")
else:
    points["CMA-ES"] = cma.fmin2(penalty, start, 0.5, {"seed": 1, "verbose": -9, "verb_log": 0})[0]

for name, x in points.items():
    volume, height = penalty.errors(x) + penalty.rows.target
    print(f"{name:<24} radius {x[0]:.4f} height {x[1]:.4f} cost {cost(x):.3f} volume {volume:.3f}")
print()
print(penalty.report(points["BFGS"], tolerance=[0.1, 0.001]))
