"""
Packing circles, and the forces between them
============================================

Ten equal circles in a unit square, as large as possible. There are many arrangements that cannot be improved
by small moves; :func:`softpenalty.search` looks for the best of them. The best known radius is 0.148204.
"""

import matplotlib.pyplot as plt
import numpy as np

from softpenalty import Constraint, search

plt.style.use("softpenalty.figures")
N, BEST_KNOWN = 10, 0.148204322565
first, second = np.triu_indices(N, 1)

# %%
# The variables are x and y of every centre, and the radius. No pair overlaps and no circle leaves the square:
# two vectors of constraints, with their derivatives.


def gaps(z):
    x, y = z[:N], z[N : 2 * N]
    return np.hypot(x[first] - x[second], y[first] - y[second]) - 2 * z[-1]


def gaps_jacobian(z):
    x, y = z[:N], z[N : 2 * N]
    apart = np.hypot(dx := x[first] - x[second], dy := y[first] - y[second]) + 1e-12
    J, pair = np.zeros((first.size, z.size)), np.arange(first.size)
    J[pair, first], J[pair, second] = dx / apart, -dx / apart
    J[pair, N + first], J[pair, N + second] = dy / apart, -dy / apart
    J[:, -1] = -2.0
    return J


eye, column = np.eye(2 * N), np.ones((2 * N, 1))
walls = np.block([[eye, -column], [-eye, -column]])
constraints = [
    Constraint(gaps, ">", np.zeros(first.size), jac=gaps_jacobian, name="gap"),
    Constraint(lambda z: walls @ z, ">", np.repeat([0.0, -1.0], 2 * N), jac=lambda z: walls, name="wall"),
]
gradient = np.append(np.zeros(2 * N), -1.0)
result = search(
    lambda z: -z[-1],
    [(0.0, 1.0)] * (2 * N) + [(0.0, 0.3)],
    constraints,
    jac=lambda z: gradient,
    max_solves=40,
    rng=0,
)
