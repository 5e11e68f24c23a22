"""BFGS as in SciPy: the same start, search, update and reasons to stop."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import math

import numpy as np

from . import exact, fast
from .line_search import first_step, more_thuente, nocedal_wright
from .penalized import allocate, apart, borrow_data, borrow_work, dot, gradient, value

GRADIENT_TOLERANCE = 1e-5  # max|g| at which SciPy stops
ITERATIONS_PER_VARIABLE = 200
RHO_WITHOUT_CURVATURE = 1000.0  # SciPy's 1/(y·s) where y·s = 0
# Numbered as in SciPy and in `engine.STATUSES`.
_CONVERGED, _ITERATION_LIMIT, _PRECISION_LOSS, _NOT_FINITE = range(4)


@exact
def _largest(vector):
    largest = 0.0
    for number in vector:
        if not math.isfinite(number):
            return abs(number)
        largest = max(largest, abs(number))
    return largest


@fast
def _multiply(matrix, vector, out):
    for i in range(vector.size):
        total = 0.0
        for j in range(vector.size):
            total += matrix[i, j] * vector[j]
        out[i] = total


@fast
def _update(inverse, s, y_image, rho, curvature, new_gradient, direction):
    """Update the inverse Hessian, and the direction −inverse·gradient in the same pass."""
    factor = rho * (1.0 + rho * curvature)
    for i in range(s.size):
        along_s = factor * s[i] - rho * y_image[i]
        along_y = -rho * s[i]
        total = 0.0
        for j in range(s.size):
            entry = inverse[i, j] + along_s * s[j] + along_y * y_image[j]
            inverse[i, j] = entry
            total += entry * new_gradient[j]
        direction[i] = -total


@exact
def minimize(problem, x0):
    """Minimize the penalized function from `x0`; returns (x, iterations, evaluations, status number)."""
    n = x0.size
    owned = allocate(problem)  # its use in the last line keeps it alive for `work`
    data, work = borrow_data(problem), borrow_work(owned)
    x, old_gradient, direction, s, y, y_image = apart(n), apart(n), apart(n), apart(n), apart(n), apart(n)
    inverse = apart(n * n).reshape(n, n)
    inverse[:] = np.eye(n)
    x[:] = x0
    work.trial[:] = x
    f = value(data, work)
    gradient(data, work)
    f_before = f + math.sqrt(dot(work.gradient, work.gradient)) / 2.0
    old_gradient[:] = work.gradient
    direction[:] = -old_gradient
    iterations = 0
    status = _CONVERGED
    while _largest(old_gradient) > GRADIENT_TOLERANCE:
        if iterations >= ITERATIONS_PER_VARIABLE * n:
            status = _ITERATION_LIMIT
            break
        slope = dot(old_gradient, direction)
        first = first_step(f, f_before, slope)
        found, step, f_new = more_thuente(data, work, x, direction, f, slope, first)
        if not found:
            found, step, f_new = nocedal_wright(data, work, x, direction, f, slope, first)
        if not found:
            status = _PRECISION_LOSS
            break
        f_before, f = f, f_new
        for i in range(n):
            s[i] = step * direction[i]
            y[i] = work.gradient[i] - old_gradient[i]
        x[:] = work.trial
        old_gradient[:] = work.gradient
        iterations += 1
        if _largest(old_gradient) <= GRADIENT_TOLERANCE or _largest(s) == 0.0:
            break
        if not math.isfinite(f):
            status = _PRECISION_LOSS
            break
        product = dot(y, s)
        rho = RHO_WITHOUT_CURVATURE if product == 0.0 else 1.0 / product
        _multiply(inverse, y, y_image)
        _update(inverse, s, y_image, rho, dot(y, y_image), old_gradient, direction)
    if status == _CONVERGED and not (math.isfinite(f) and math.isfinite(_largest(old_gradient))):
        status = _NOT_FINITE
    return x.copy(), iterations, owned.counts[0], status
