"""Where to evaluate next so that the gradients become known: one point after the other, for a whole batch."""

from __future__ import annotations

import numpy as np

from ...types import Array
from .cloud import Cloud
from .fit import Basis, Models

__all__ = ["informative_points"]


def informative_points(
    basis: Basis,
    cloud: Cloud,
    models: Models,
    centre: Array,
    count: int,
    radii: tuple[float, float],
    longest: float,
    bounds: tuple[Array, Array],
    values: bool = False,
) -> list[Array]:
    """Up to ``count`` points u (n,) around ``centre``, each the best after those before it.

    Along the direction in which the gradients are known least, the distance and side are taken that lower the
    sum of their variances most. Answers are not needed for that, so the points can be evaluated all at once.

    Parameters
    ----------
    radii : distances at which second and third derivatives equal the noise
    longest : no point is farther away
    bounds : lower and upper limits (n,) that no point crosses
    values : whether to lower the variance of the values at the centre instead
    """
    near, reach = radii
    n, covariance = basis.n, models.covariance
    points: list[Array] = []
    wanted = slice(0, 1) if values else slice(1, n + 1)
    lengths = [h for h in (0.5 * near, near, 2.0 * near, reach, 2.0 * reach) if h <= max(longest, near)]
    for _ in range(count):
        direction = np.linalg.eigh(covariance[1 : n + 1, 1 : n + 1])[1][:, -1]
        offered = np.array([side * h * direction for h in lengths for side in (1.0, -1.0)])
        places = np.clip(centre + offered, *bounds)
        shifts = places - centre
        distance = np.sqrt((shifts**2).sum(axis=1))
        rows = basis.at(shifts / models.length)
        weight = 1.0 / (1.0 + (distance / reach) ** 6)
        known = rows @ covariance
        fall = weight * (known[:, wanted] ** 2).sum(axis=1) / (1.0 + weight * (known * rows).sum(axis=1))
        taken = [cloud.failed(place) or any((place == other).all() for other in points) for place in places]
        fall[(distance <= 1e-3 * near) | np.array(taken)] = -1.0
        best = int(np.argmax(fall))
        if fall[best] <= 0.0:
            break
        points.append(places[best])
        divisor = 1.0 + weight[best] * float(known[best] @ rows[best])
        covariance = covariance - weight[best] * np.outer(known[best], known[best]) / divisor
    return points
