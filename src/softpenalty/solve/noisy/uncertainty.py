"""What the noise leaves uncertain in an answer."""

from __future__ import annotations

import numpy as np

from ...types import Array
from ..sqp.curvature.convexify import definite
from .loop import NoisySearch
from .view import View

__all__ = ["uncertainty"]


def uncertainty(search: NoisySearch, view: View) -> tuple[Array, float, Array]:
    """Standard deviations of x (n_all,), of the objective, and of the multipliers of the rows (m,).

    Errors of the fitted gradients and rows, carried through the optimality conditions of what is active.
    """
    length, source = view.linear.length, 1 + search.rows.source
    y = search.y / length * search.rows.sign
    H = view.models.H[0] + np.tensordot(y, view.models.H[source], 1)
    active = np.flatnonzero((np.abs(search.y) > 0.0) | search.equality)
    loose = np.flatnonzero(
        (search.z == 0.0) & (search.centre > search.lower) & (search.centre < search.upper)
    )
    A = view.local.a[active][:, loose]
    B = definite(0.5 * (H + H.T)[np.ix_(loose, loose)], A) if loose.size else np.zeros((0, 0))
    K = np.block([[B, A.T], [A, np.zeros((active.size, active.size))]])
    of_lagrangian = np.sqrt(view.noise[0] ** 2 + float(((y * view.noise[source]) ** 2).sum()))
    of_values = float(np.sqrt(view.models.covariance[0, 0]))
    errors = np.zeros((K.shape[0], K.shape[0]))
    k = loose.size
    errors[:k, :k] = of_lagrangian**2 * view.models.gradient_covariance[np.ix_(loose, loose)]
    errors[range(k, len(K)), range(k, len(K))] = (
        of_values * view.noise[source][active] / length[active]
    ) ** 2
    inverse = np.linalg.pinv(K) if K.size else K
    spread = np.sqrt(np.maximum((inverse @ errors @ inverse.T).diagonal(), 0.0))
    of_x, of_y = np.zeros(search.problem.start.size), np.zeros(search.m)
    of_x[search.free[loose]] = spread[:k] * search.size[loose]
    of_y[active] = spread[k:] / length[active]
    return of_x, of_values * float(view.noise[0]), of_y
