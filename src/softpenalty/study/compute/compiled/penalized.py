"""The penalized function of one problem, and its gradient by central differences of the paper's width.

F(x) = objective·x + penalty. A shift of variable j changes only the constraints whose normal has an entry j,
so F(x ± ½h·eⱼ) replaces their terms in the sum of all terms instead of adding up all of them again. Each of
the two values is still rounded to a double before they are subtracted: the noise of the differences is part
of what the paper measured.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import intrinsic

from ...design.published import DIFFERENCE_INTERVAL as INTERVAL
from . import exact, fast
from .kernels import slope, terms

_DISTANCE = 64  # numbers between two arrays: several vectors of any processor


class Penalized(NamedTuple):
    """A problem with the penalty of one configuration.

    `normals` holds the entries of the N normals that are not 0, by columns as in SciPy's `csc_array`: entry
    k of column j (starts[j] ≤ k < starts[j+1]) is in row rows[k]. Spheres have none of them.
    """

    kernel: int
    norm: bool
    spheres: bool
    exact: bool  # exact gradients instead of differences; spheres only
    alpha: float
    sigma: Any  # (2N,) or (1,)
    objective: Any  # (N,)
    radius: float
    bounds: Any  # (2N,): upper, then lower
    normals: Any  # (entries,)
    rows: Any  # (entries,)
    starts: Any  # (N + 1,)


class Work(NamedTuple):
    """Arrays that one trial uses again and again."""

    trial: Any  # (N,) point of the last value
    gradient: Any  # (N,) last gradient
    totals: Any  # (2,) at `trial`: objective, and sum of terms (norm: of their squares; spheres: ‖x‖²)
    error: Any  # (2N,) at `trial`
    term: Any  # (2N,) at `trial`
    pair: Any  # (N,) of term: upper + lower (norm: their squares)
    shifted: Any  # errors at the shifted points
    shifted_sigma: Any
    shifted_term: Any
    counts: Any  # (1,) values of F so far


@intrinsic
def _borrowed(context, array):
    """The same array without its count of references: counting took half the time of small problems."""

    def generate(context, builder, signature, arguments):
        view = context.make_array(array)(context, builder, arguments[0])
        view.meminfo = view.meminfo.type(None)
        view.parent = view.parent.type(None)
        return view._getvalue()

    return array(array), generate


@exact
def borrow_data(data):
    """`data` for inner loops; the caller keeps the original alive."""
    return Penalized(
        data.kernel, data.norm, data.spheres, data.exact, data.alpha,
        _borrowed(data.sigma), _borrowed(data.objective), data.radius, _borrowed(data.bounds),
        _borrowed(data.normals), _borrowed(data.rows), _borrowed(data.starts),
    )  # fmt: skip


@exact
def borrow_work(work):
    """`work` for inner loops; the caller keeps the original alive."""
    return Work(
        _borrowed(work.trial), _borrowed(work.gradient), _borrowed(work.totals), _borrowed(work.error),
        _borrowed(work.term), _borrowed(work.pair), _borrowed(work.shifted),
        _borrowed(work.shifted_sigma), _borrowed(work.shifted_term), _borrowed(work.counts),
    )  # fmt: skip


@exact
def apart(size):
    """An array (size,) to be written to, with nothing else near it in memory.

    Loops are compiled twice, with vector instructions and without; which one runs, and so how sums are
    rounded, would depend on whether the array written to happens to lie next to one that is read.
    """
    return np.empty(size + 2 * _DISTANCE)[_DISTANCE : _DISTANCE + size]


@exact
def allocate(data):
    """The arrays for a trial with this penalized function."""
    n = data.objective.size
    entries = data.rows.size
    size = 2 * n if data.spheres else 4 * entries
    shifted_sigma = apart(size)
    if data.spheres:
        shifted_sigma[:] = data.sigma[0]
    else:
        for k in range(entries):
            shifted_sigma[k] = shifted_sigma[2 * entries + k] = data.sigma[data.rows[k]]
            shifted_sigma[entries + k] = shifted_sigma[3 * entries + k] = data.sigma[n + data.rows[k]]
    return Work(
        apart(n), apart(n), apart(2), apart(2 * n), apart(2 * n), apart(n),
        apart(size), shifted_sigma, apart(size), np.zeros(1, np.int64),
    )  # fmt: skip


@fast
def dot(a, b):
    """a·b."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@fast
def _pair_terms(data, work):
    """Fill `pair` from `term`; returns their sum."""
    n = work.pair.size
    total = 0.0
    for i in range(n):
        upper, lower = work.term[i], work.term[n + i]
        pair = upper * upper + lower * lower if data.norm else upper + lower
        work.pair[i] = pair
        total += pair
    return total


@exact
def value(data, work):
    """F at `work.trial`."""
    x = work.trial
    n = x.size
    objective = dot(data.objective, x)
    work.counts[0] += 1
    work.totals[0] = objective
    if data.spheres:
        squared = dot(x, x)
        work.totals[1] = squared
        work.error[0] = math.sqrt(squared) - data.radius
        terms(data.kernel, work.error[:1], data.sigma, data.alpha, work.term[:1])
        return objective + work.term[0]  # √term² = term: sum and norm are one
    work.error[:n] = 0.0
    for j in range(n):
        for k in range(data.starts[j], data.starts[j + 1]):
            work.error[data.rows[k]] += data.normals[k] * x[j]
    for i in range(n):
        along = work.error[i]
        work.error[i] = along - data.bounds[i]
        work.error[n + i] = -along - data.bounds[n + i]
    terms(data.kernel, work.error, data.sigma, data.alpha, work.term)
    total = _pair_terms(data, work)
    work.totals[1] = total
    return objective + (math.sqrt(total) if data.norm else total)


@exact
def gradient(data, work):
    """Fill `work.gradient` with the gradient at `work.trial`, where `value` was called last."""
    if data.exact:
        _exact_gradient(data, work)
    elif data.spheres:
        _difference_spheres(data, work)
    else:
        _difference_planes(data, work)


@exact
def _exact_gradient(data, work):
    factor = data.sigma[0] * slope(data.kernel, work.error[0], data.alpha) / math.sqrt(work.totals[1])
    for j in range(work.trial.size):
        work.gradient[j] = data.objective[j] + factor * work.trial[j]


@exact
def _difference_spheres(data, work):
    n = work.trial.size
    work.counts[0] += 2 * n
    half = 0.5 * INTERVAL
    for j in range(n):
        x = work.trial[j]
        others = work.totals[1] - x * x
        above, below = x + half, x - half
        work.shifted[j] = math.sqrt(others + above * above) - data.radius
        work.shifted[n + j] = math.sqrt(others + below * below) - data.radius
    terms(data.kernel, work.shifted, work.shifted_sigma, data.alpha, work.shifted_term)
    objective = work.totals[0]
    for j in range(n):
        step = half * data.objective[j]
        above = (objective + step) + work.shifted_term[j]
        below = (objective - step) + work.shifted_term[n + j]
        work.gradient[j] = (above - below) / INTERVAL


@exact
def _difference_planes(data, work):
    n, entries = work.trial.size, data.rows.size
    work.counts[0] += 2 * n
    half = 0.5 * INTERVAL
    for k in range(entries):
        upper, lower = work.error[data.rows[k]], work.error[n + data.rows[k]]
        step = half * data.normals[k]
        work.shifted[k] = upper + step
        work.shifted[entries + k] = lower - step
        work.shifted[2 * entries + k] = upper - step
        work.shifted[3 * entries + k] = lower + step
    terms(data.kernel, work.shifted, work.shifted_sigma, data.alpha, work.shifted_term)
    objective, total = work.totals
    term = work.shifted_term
    for j in range(n):
        change_above = change_below = 0.0
        for k in range(data.starts[j], data.starts[j + 1]):
            pair = work.pair[data.rows[k]]
            upper_above, lower_above = term[k], term[entries + k]
            upper_below, lower_below = term[2 * entries + k], term[3 * entries + k]
            if data.norm:
                change_above += (upper_above * upper_above + lower_above * lower_above) - pair
                change_below += (upper_below * upper_below + lower_below * lower_below) - pair
            else:
                change_above += (upper_above + lower_above) - pair
                change_below += (upper_below + lower_below) - pair
        above, below = total + change_above, total + change_below
        if data.norm:
            above, below = math.sqrt(above), math.sqrt(below)
        step = half * data.objective[j]
        work.gradient[j] = (((objective + step) + above) - ((objective - step) + below)) / INTERVAL
