"""
Into a corner: sum and norm
===========================

The paper's Fig. 4. The objective 0.2 u + 0.2 v falls towards the lower left, and two constraints, u > 0
and v > u, meet at the origin, the solution, at an acute angle. BFGS minimizes three penalties:
Courant-Beltrami's quadratic one, and the algebraic one with its terms summed or combined by the
Euclidean norm.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from softpenalty import Constraint, penalize

plt.style.use("softpenalty.figures")
normals = np.array([[1.0, 0.0], [-np.sqrt(0.5), np.sqrt(0.5)]])
corner = Constraint(lambda x: normals @ x, ">", [0.0, 0.0], jac=lambda x: normals, name="corner")


def penalty(kernel, combination):
    return penalize(
        lambda x: 0.2 * (x[0] + x[1]), corner, jac=lambda x: np.full(2, 0.2), vectorized=True,
        kernel=kernel, combination=combination, sigma=1.0, alpha=0.1,
    )  # fmt: skip


# %%
# :func:`softpenalty.penalize` makes one function of objective and constraints, with its exact gradient.
# Any optimizer takes it; its path is kept here.

PENALTIES = {  # label: the penalty, its colour
    "Courant-Beltrami, sum": (penalty("quadratic", "sum"), "C1"),
    "algebraic, sum": (penalty("algebraic", "sum"), "C0"),
    "algebraic, norm": (penalty("algebraic", "norm"), "C2"),
}
paths = {}
for label, (p, _) in PENALTIES.items():
    paths[label] = [np.array([-9.0, -8.0])]
    minimize(p, paths[label][0], jac=p.gradient, method="BFGS", callback=paths[label].append)
    x = paths[label][-1]
    print(f"{label:<22} ends {np.linalg.norm(x):.3f} from the solution; errors {p.errors(x).round(3)}")

# %%
# The quadratic penalty converges quickly, but far from the corner: it has no slope at its target. The
# smooth penalties balance the objective close to it. The norm rounds the corner off, which makes for a
# steady path.

figure, axes = plt.subplots(1, 3, figsize=(11, 4), sharey=True)
u, v = np.meshgrid(np.linspace(-10, 4, 141), np.linspace(-10, 5, 151))
for each, (label, (p, color)) in zip(axes, PENALTIES.items(), strict=True):
    height = p(np.array([u.ravel(), v.ravel()])).reshape(u.shape)
    each.contour(u, v, height - height.min(), levels=np.geomspace(0.02, 20, 16), colors="0.8", linewidths=0.8)
    each.fill_between([0, 4], [0, 4], 5, color="0.5", alpha=0.15, lw=0)
    each.plot(*np.array(paths[label]).T, "o-", color=color, ms=4)
    each.plot(0, 0, "k+", ms=12)
    each.text(0.2, 4.3, "feasible", color="0.4", fontsize=9)
    ends = np.linalg.norm(paths[label][-1])
    each.set(
        aspect="equal", xlabel="u", title=f"{label}:\n{len(paths[label]) - 1} iterations, {ends:.2f} off"
    )
axes[0].set_ylabel("v")
plt.show()

# %%
# A sum holds while sigma exceeds every multiplier, a norm while it exceeds their Euclidean length. The
# multipliers follow from the gradients: the corner asks for 0.4 and 0.28, which sigma = 1 exceeds either
# way.

multipliers = np.linalg.solve(normals.T, [0.2, 0.2])
print("multipliers at the corner:", multipliers, "length:", np.linalg.norm(multipliers))
distance = {label: np.linalg.norm(path[-1]) for label, path in paths.items()}
assert distance["algebraic, norm"] < distance["algebraic, sum"] < distance["Courant-Beltrami, sum"]
