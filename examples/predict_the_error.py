"""The error a penalty leaves, predicted and then measured.

A ball rolls downhill, against a wall at x = 1: the objective −gradient·x, the constraint x < 1.
"""

from __future__ import annotations

from scipy.optimize import minimize

from softpenalty import Constraint, penalize, predicted_error

GRADIENT, ALPHA = 0.75, 0.05
wall = Constraint(lambda x: x[0], "<", 1.0, name="wall", jac=lambda x: [1.0])

print(f"{'kernel':<12}{'sigma':>8}{'predicted':>14}{'measured':>14}")
for kernel in ("softplus", "algebraic", "quadratic"):
    for sigma in (1.0, 1.5, 4.0):
        p = penalize(lambda x: -GRADIENT * x[0], wall, kernel=kernel, sigma=sigma, alpha=ALPHA)
        x = minimize(p, [0.0], jac=p.gradient, method="BFGS", options={"gtol": 1e-10}).x
        predicted = predicted_error(GRADIENT, sigma, ALPHA, "<", kernel)
        print(f"{kernel:<12}{sigma:>8}{predicted:>14.8f}{abs(p.errors(x)[0]):>14.8f}")
