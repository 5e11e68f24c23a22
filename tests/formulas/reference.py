"""Reference values of the kernels: the paper's formulas, literally, in several thousand bits.

A `Table` loses nothing: it keeps every reference as the nearest float and the rest in units in the last
place (ulp). `excess` measures a kernel against it. Run as a script with the path of pickled tables, this
module prints the excesses as JSON: that is how a process in which NumPy uses other loops is measured.
"""

from __future__ import annotations

import json
import math
import pickle
import sys
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mpf

from softpenalty.formulas.kernels import KERNELS

METHODS = ("value", "slope", "curvature")
LIMITS = {"value": 4.0, "slope": 4.0, "curvature": 7.0}  # ulp

# Algebraic: √(4α² + x²) + x cancels down to (α/x)², which takes 2·(1024 + 500) bits for alpha ≥ 2^-500.
# Softplus: 1 + 2^(x/α) must hold 2^-1200 next to 1, and where x/α is below -3000 nothing is left.
BITS = {"softplus": 1400}
MOST_BITS = 3200
VANISHED = 3000


def literal(kernel: str, x: Any, alpha: Any) -> tuple[Any, Any, Any]:
    """Return value, slope and curvature of `kernel` as the paper writes them, to the current precision."""
    positive = max(x, mpf(0))
    if kernel == "softplus":
        if abs(x) > VANISHED * alpha:
            return positive, mpf(int(x > 0)), mpf(0)
        power = mpf(2) ** (x / alpha)
        value = alpha * mpmath.log(1 + power) / mpmath.ln2
        return value, 1 / (1 + 1 / power), mpmath.ln2 / alpha * power / (1 + power) ** 2
    if kernel == "algebraic":
        root = mpmath.sqrt(4 * alpha**2 + x**2)
        return (root + x) / 2, x / (2 * root) + mpf(1) / 2, 2 * alpha**2 / root**3
    if kernel == "quadratic":
        return positive**2, 2 * positive, 1 + mpmath.sign(x)
    if kernel == "linear":
        return positive, (1 + mpmath.sign(x)) / 2, mpf(0)
    if kernel == "huber":
        value = positive**2 / (2 * alpha) if x <= alpha else x - alpha / 2
        return value, min(positive / alpha, mpf(1)), 1 / alpha if 0 < x <= alpha else mpf(0)
    raise LookupError(f"no reference for the kernel {kernel!r}: add one")


class Table(NamedTuple):
    """References of one kernel for one alpha, one row for each of `METHODS`."""

    kernel: str
    error: np.ndarray  # (N,)
    alpha: float
    nearest: np.ndarray  # (3, N), of the type of `error`
    rest: np.ndarray  # (3, N), reference − nearest in ulp


def table(kernel: str, error: np.ndarray, alpha: float) -> Table:
    """Compute the references at `error`, float32 or float64, for an `alpha` that this type holds exactly."""
    assert float(error.dtype.type(alpha)) == alpha
    with mpmath.workprec(BITS.get(kernel, MOST_BITS)), np.errstate(over="ignore"):
        exact = [literal(kernel, mpf(x), mpf(alpha)) for x in error.tolist()]
        nearest = np.array([[float(number) for number in row] for row in exact]).astype(error.dtype)
        units = ulp(nearest).tolist()
        columns = zip(exact, nearest.tolist(), units, strict=True)
        rest = [
            [
                float((number - near) / unit) if near < math.inf else 0.0
                for number, near, unit in zip(*c, strict=True)
            ]
            for c in columns
        ]
    return Table(kernel, error, alpha, nearest.T, np.array(rest).T)


def ulp(number: np.ndarray) -> np.ndarray:
    """Return the distance of neighbouring floats at `number`: among denormal numbers, the least float."""
    zero, top = number.dtype.type(0), np.finfo(number.dtype).max
    return np.spacing(np.minimum(np.abs(number), np.nextafter(top, zero)))


def excess(references: Table) -> dict[str, float]:
    """Return the largest error of each method, and of that part of `evaluate`, over what is allowed.

    Allowed are `LIMITS`, with two additions for softplus. An alpha that is not a power of two makes
    error/alpha inexact by half an ulp, which the exponential turns into a relative error ln 2 times as large
    (about |error/alpha|·ln 2/2 ulp). And the exponential underflows gradually by itself, so that below the
    least normal number its spacing counts: times alpha/ln 2 in the value, times ln 2/alpha in the curvature.
    """
    name, error, alpha, nearest, rest = references
    kernel = KERNELS[name]
    least = float(np.finfo(error.dtype).smallest_subnormal)
    scales = {"value": alpha / math.log(2), "slope": 1.0, "curvature": math.log(2) / alpha}
    worst = {}
    together = kernel.evaluate(error, alpha)
    for row, method in enumerate(METHODS):
        unit = ulp(nearest[row]).astype(float)
        allowed = np.full(error.shape, LIMITS[method])
        coarse = unit
        if name == "softplus":
            if math.frexp(alpha)[0] != 0.5:
                with np.errstate(over="ignore"):
                    ratio = np.minimum(np.abs(error / error.dtype.type(alpha)), error.dtype.type(VANISHED))
                tail = (error < 0) | (method == "curvature")  # above, value and slope are not small
                allowed += tail * (0.5 * ulp(ratio) * math.log(2) * (nearest[row] / unit))
            coarse = np.maximum(unit, scales[method] * least)
        for result in (getattr(kernel, method)(error, alpha), together[row]):
            assert result.dtype == error.dtype
            assert result.shape == error.shape
            with np.errstate(invalid="ignore"):
                distance = (result.astype(float) - nearest[row].astype(float)) / unit - rest[row]
            distance = np.where(result == nearest[row], rest[row], distance)  # also where both are infinite
            over = np.abs(distance) * (unit / coarse) / allowed
            worst[method] = max(worst.get(method, 0.0), float(np.max(over)))  # NaN stays and fails
            if np.isnan(over).any():
                worst[method] = math.inf
    return worst


def grid(dtype: Any, alpha: float) -> np.ndarray:
    """Return errors of both signs: 0, the ends of the range, the corner, and log-uniform ones between."""
    info = np.finfo(dtype)
    random = np.random.default_rng(7)
    low, high = math.log2(float(info.smallest_subnormal)), math.log2(float(info.max))
    bend = alpha * 2.0 ** random.uniform(-12, 12, 60)
    fade = alpha * -low * random.uniform(0.8, 1.02, 15)  # where softplus underflows gradually
    whole = 2.0 ** random.uniform(low, math.nextafter(high, 0), 50)
    steps = alpha * np.array(
        [2.0**-26, 0.25, 0.5, 1, 1.5, 2, 3, 10, 53, 54, 100, 126, 149, 1022, 1074, 2**30]
    )
    ends = [0, info.smallest_subnormal, info.tiny, info.eps, 1, np.nextafter(info.max, dtype(0)), info.max]
    with np.errstate(over="ignore"):
        sizes = np.concatenate([bend, fade, whole, steps, np.array(ends, dtype=float)]).astype(dtype)
    sizes = np.unique(sizes[np.isfinite(sizes)])
    return np.concatenate([-sizes[::-1], sizes])


if __name__ == "__main__":
    tables = pickle.loads(Path(sys.argv[1]).read_bytes())
    print(json.dumps([excess(Table(*fields)) for fields in tables]))
