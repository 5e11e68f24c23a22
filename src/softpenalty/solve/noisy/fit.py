"""Quadratic models of all functions, regressed together over the points around a centre.

One matrix serves every function: a point counts the less the farther away it is (beyond `reach` the cubic
terms that the model lacks exceed the noise), and second derivatives are drawn to those of the last fit as
long as the points do not tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from ...types import Array
from .cloud import Cloud

__all__ = ["Basis", "Models", "regress"]

MORE_POINTS = (3, 10)  # points taken into account at least: so many a column, and so many more
GRADIENT_RIDGE = 1e-8  # share of the ridge on second derivatives that gradients get


class Basis:
    """1, tᵢ, tᵢ²/2 and tᵢtⱼ as columns, in this order."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.i, self.j = np.triu_indices(n)
        self.factor = np.where(self.i == self.j, 0.5, 1.0)
        self.columns = 1 + n + self.i.size

    def at(self, t: Array) -> Array:
        """(N, columns) for points t (N, n) relative to the centre."""
        return np.hstack([np.ones((len(t), 1)), t, self.factor * t[:, self.i] * t[:, self.j]])

    def square_of_matrix(self, variances: Array) -> float:
        """Mean square of a matrix of second derivatives whose coefficients have variances (columns,)."""
        return float(np.where(self.i == self.j, 1.0, 2.0) @ variances[1 + self.n :])

    def packed(self, H: Array) -> Array:
        """Coefficients (second derivatives, functions) of matrices H (functions, n, n)."""
        return H[:, self.i, self.j].T

    def matrices(self, coefficients: Array) -> Array:
        """Matrices (functions, n, n) from coefficients (second derivatives, functions)."""
        H = np.zeros((coefficients.shape[1], self.n, self.n))
        H[:, self.i, self.j] = coefficients.T
        H[:, self.j, self.i] = coefficients.T
        return H


@dataclass(frozen=True, slots=True)
class Models:
    """What is known of the functions at a centre.

    Attributes
    ----------
    F : (functions,) smoothed values
    J : (functions, n) gradients
    H : (functions, n, n) second derivatives
    covariance : (columns, columns) of the coefficients, in units of each function's noise and of `length`
    length : what distances from the centre were divided by
    points : how many took part
    residual : (functions,) weighted mean square of what the models do not explain
    spare : how many more points there are, by weight, than the models have used up
    """

    F: Array
    J: Array
    H: Array
    covariance: Array
    length: float
    points: int
    residual: Array
    spare: float

    @property
    def gradient_covariance(self) -> Array:
        """(n, n), in units of each function's noise."""
        n = self.J.shape[1]
        block: Array = self.covariance[1 : n + 1, 1 : n + 1] / self.length**2
        return block


def regress(basis: Basis, cloud: Cloud, centre: Array, near: float, reach: float, H: Array) -> Models:
    """Fit all functions around ``centre`` (n,).

    Parameters
    ----------
    near : distance at which the curvature equals the noise
    reach : distance at which third derivatives do
    H : (functions, n, n) second derivatives to fall back upon
    """
    n = basis.n
    chosen, distance = cloud.nearest(centre, MORE_POINTS[0] * basis.columns + MORE_POINTS[1], reach)
    length = max(near, min(float(distance[min(n, distance.size - 1)]), 1.0))
    rows = basis.at((cloud.u[chosen] - centre) / length)
    F = cloud.values[chosen]
    origin = F[0].copy()
    weight = 1.0 / np.sqrt(1.0 + (distance / reach) ** 6)
    ridge = np.zeros(basis.columns)
    ridge[1 : n + 1] = np.sqrt(GRADIENT_RIDGE) * 0.5 * near * near / length
    ridge[n + 1 :] = 0.5 * near * near / length**2
    # Orthogonal factors, not normal equations: points far and near make those lose all their digits.
    matrix = np.vstack([weight[:, None] * rows, np.diag(ridge)[1:]])
    right = np.vstack([weight[:, None] * (F - origin), np.zeros((n, F.shape[1]))])
    right = np.vstack([right, ridge[n + 1 :, None] * basis.packed(H) * length**2])
    scale = 1.0 / np.sqrt(np.maximum((matrix**2).sum(axis=0), np.finfo(float).tiny))
    Q, R = np.linalg.qr(matrix * scale)
    inverse = scale[:, None] * solve_triangular(R, np.eye(basis.columns))
    coefficients = inverse @ (Q.T @ right)
    covariance = inverse @ inverse.T
    explained = matrix[: len(rows)] @ inverse
    used = float((explained**2).sum())  # of the points, by the coefficients
    spare = float((weight**2).sum()) - used
    left = weight[:, None] * (F - origin) - matrix[: len(rows)] @ coefficients
    return Models(
        origin + coefficients[0],
        coefficients[1 : n + 1].T / length,
        basis.matrices(coefficients[n + 1 :] / length**2),
        covariance,
        length,
        len(chosen),
        (left**2).sum(axis=0) / max(spare, 1.0),
        spare,
    )
