"""What the noise leaves uncertain in an answer."""

from __future__ import annotations

import numpy as np

from ...types import Array
from ..sqp.curvature.convexify import definite
from .loop import NoisySearch
from .view import View

__all__ = ["uncertainty"]

MEASURED = 4.0  # points that noise known beforehand counts as: differences of seven made it


def uncertainty(search: NoisySearch, view: View) -> tuple[Array, float, Array]:
    """Standard deviations of x (n_all,), of the least objective, and of the multipliers of the rows (m,).

    Errors of fitted values and gradients, carried through the optimality conditions of what is active. Those
    of one function come from the same points, so that its value and its gradient are wrong together.
    """
    models, rows = view.models, search.rows
    length, source = view.linear.length, 1 + rows.source
    y = search.y / length * rows.sign
    H = models.H[0] + np.tensordot(y, models.H[source], 1)
    active = np.flatnonzero((np.abs(search.y) > 0.0) | search.equality)
    loose = np.flatnonzero(
        (search.z == 0.0) & (search.centre > search.lower) & (search.centre < search.upper)
    )
    A = view.local.a[active][:, loose]
    B = definite(0.5 * (H + H.T)[np.ix_(loose, loose)], A) if loose.size else np.zeros((0, 0))
    K = np.block([[B, A.T], [A, np.zeros((active.size, active.size))]])
    variance = pooled(view)
    of_lagrangian = variance[0] + float((y**2 * variance[source]).sum())
    of_value = models.covariance[0, 0]
    errors = np.zeros((K.shape[0], K.shape[0]))
    k = loose.size
    errors[:k, :k] = of_lagrangian * models.gradient_covariance[np.ix_(loose, loose)]
    of_rows = variance[source][active] / length[active]
    errors[range(k, len(K)), range(k, len(K))] = of_value * of_rows / length[active]
    together = models.covariance[1 + loose, 0] / models.length
    errors[:k, k:] = np.outer(together, (y * rows.sign)[active] * of_rows)
    errors[k:, :k] = errors[:k, k:].T
    inverse = np.linalg.pinv(K) if K.size else K
    spread = np.sqrt(np.maximum((inverse @ errors @ inverse.T).diagonal(), 0.0))
    of_x, of_y = np.zeros(search.problem.start.size), np.zeros(search.m)
    of_x[search.free[loose]] = spread[:k] * search.size[loose]
    of_y[active] = spread[k:] / length[active]
    return of_x, float(np.sqrt(of_value * of_lagrangian)), of_y


def pooled(view: View) -> Array:
    """Variance (functions,) of the noise, from what was known of it before and from what the models leave.

    Noise that differs from place to place, and models that do not fit, show in the latter.
    """
    models = view.models
    spare = max(models.spare, 0.0)
    variance = (MEASURED * view.noise**2 + spare * models.residual) / (MEASURED + spare)
    found: Array = np.where(view.noise > 0.0, variance, 0.0)
    return found
