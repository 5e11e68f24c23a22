"""
The error of a penalty, predicted and measured
==============================================

A ball rolls downhill against a wall at x = 1: the objective −gradient · x, the
constraint x < 1. A penalty lets it come to rest a little beside the wall. How far
is known before anything is optimized: where the slope of the penalty balances that
of the hill (Eqs. 10–14 of the paper).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from softpenalty import KERNELS, Constraint, penalize, predicted_error, recommend

plt.style.use("softpenalty.figures")
GRADIENT, ALPHA = 0.75, 0.05
wall = Constraint(lambda x: x[0], "<", 1.0, name="wall", jac=lambda x: [1.0])

# %%
# :func:`softpenalty.penalize` makes one function of objective and constraint, with
# its exact gradient, for any optimizer: here SciPy's BFGS, which knows nothing of
# constraints.


def measured_error(kernel, sigma, alpha=ALPHA):
    p = penalize(
        lambda x: -GRADIENT * x[0],
        wall,
        jac=lambda x: [-GRADIENT],
        kernel=kernel,
        sigma=sigma,
        alpha=alpha,
    )
    x = minimize(p, [0.0], jac=p.gradient, method="BFGS", options={"gtol": 1e-10}).x
    return abs(p.errors(x)[0])


sigmas, curve = np.array([0.9, 1.5, 4.0, 10.0]), np.geomspace(0.76, 15.0, 300)
figure, axes = plt.subplots(figsize=(7, 4))
print(f"{'kernel':<12}{'sigma':>8}{'predicted':>14}{'measured':>14}")
for kernel, color, height in (
    ("algebraic", "C0", 0.195),
    ("quadratic", "C1", 0.025),
    ("softplus", "C2", 0.225),
):
    axes.plot(curve, predicted_error(GRADIENT, curve, ALPHA, "<", kernel), color=color)
    measured = [measured_error(kernel, sigma) for sigma in sigmas]
    axes.plot(sigmas, measured, "o", color=color)
    axes.text(curve[-1] * 1.04, height, KERNELS[kernel].label, color=color, va="center")
    for sigma, found in zip(sigmas, measured, strict=True):
        predicted = predicted_error(GRADIENT, sigma, ALPHA, "<", kernel)
        print(f"{kernel:<12}{sigma:>8}{predicted:>14.8f}{found:>14.8f}")
        assert abs(predicted - found) < 1e-6
axes.annotate(
    "sigma = 2 · gradient:\nno error at any alpha",
    (2 * GRADIENT, 0.0),
    (1.9, 0.32),
    arrowprops={"arrowstyle": "->"},
)
axes.set_xscale("log")
axes.set_xticks([1, 2, 5, 10], [1, 2, 5, 10])
axes.set_xticks([], minor=True)
axes.set(xlabel="sigma, weight of the penalty", ylabel="distance from the wall")
axes.set(ylim=(-0.02, 0.5), title="Lines: predicted error; dots: where BFGS stopped")
plt.show()

# %%
# The other way round: :func:`softpenalty.recommend` gives sigma and alpha for the
# error that you accept, with the gradient known to a factor.

choice = recommend(gradient=1.0, tolerance=1e-3, factor=1.5)  # in truth 0.75
left = measured_error("softplus", choice.sigma, choice.alpha)
print(f"sigma {choice.sigma:.3f}, alpha {choice.alpha:.6f}:", end=" ")
print(f"error of at most {choice.error:.1e} promised, {left:.1e} left")
assert left <= choice.error
