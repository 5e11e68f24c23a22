"""`search` and its peers, each going on until it is stopped."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator

import cma
import numpy as np
import scipy.optimize
from scipy.stats import qmc

from softpenalty import minimize, penalize, search

from .counting import Counted
from .problem import Array

ROUND = 1000  # samples that tiktak takes at most before it solves from the best tenth
ALPHA = 1e-7  # corner of the penalty that CMA-ES minimizes: ten times finer than the violation allowed
STRICT = 10.0  # its sigma in units of the objective's middle range over the middle violation


def ours(problem: Counted, seed: int) -> None:
    """`softpenalty.search`."""
    search(problem.fun, problem.bounds, problem.constraints(), maxfev=problem.budget, stop=None, rng=seed)


def sobol_minimize(problem: Counted, seed: int) -> None:
    """`minimize` from one Sobol point after the other."""
    for x in _sobol(problem, seed):
        minimize(problem.fun, x, bounds=problem.bounds, constraints=problem.constraints())


def sobol_slsqp(problem: Counted, seed: int) -> None:
    """SciPy's SLSQP from one Sobol point after the other."""
    for x in _sobol(problem, seed):
        _slsqp(problem, x)


def tiktak(problem: Counted, seed: int) -> None:
    """Sobol samples, SLSQP from the best tenth, drawn towards the best point found more and more."""
    points, n = _sobol(problem, seed), len(problem.bounds)
    best, best_merit = None, np.inf
    while True:
        samples = np.array(list(itertools.islice(points, min(100 * n, ROUND))))
        weigh = _merit(problem, samples)
        ranked = sorted(samples, key=weigh)[: max(1, len(samples) // 10)]
        for i, x in enumerate(ranked):
            share = min(max(0.1, np.sqrt(i / len(ranked))), 0.995)
            end = _slsqp(problem, x if best is None else share * best + (1 - share) * x)
            if weigh(end) < best_merit:
                best, best_merit = end, weigh(end)


def evolution(problem: Counted, seed: int) -> None:
    """SciPy's differential_evolution with its own defaults, again when it has converged."""
    constraints = [
        scipy.optimize.NonlinearConstraint(fun, low, 0.0)
        for fun, low, size in zip(
            (problem.inequalities, problem.equalities), (-np.inf, 0.0), problem.problem.sizes, strict=True
        )
        if size
    ]
    for again in itertools.count():
        scipy.optimize.differential_evolution(
            problem.fun, problem.bounds, constraints=constraints, maxiter=10**6, rng=seed + 1000 * again
        )


def shgo(problem: Counted, seed: int) -> None:
    """SciPy's shgo on Sobol points, which has no seed."""
    scipy.optimize.shgo(
        problem.fun, problem.bounds, constraints=problem.dicts(), n=128, iters=10**4, sampling_method="sobol"
    )


def cma_es(problem: Counted, seed: int) -> None:
    """CMA-ES on `penalize`, restarted with twice the population."""
    lower, upper = np.array(problem.bounds).T
    samples = np.array(list(itertools.islice(_sobol(problem, seed), 20 * len(lower))))
    sigma = STRICT * _weights(problem, samples)
    constraints = [
        type(constraint)(
            constraint.fun, constraint.operator, 0.0, name=constraint.name, sigma=part, alpha=ALPHA
        )
        for constraint, part in zip(
            problem.constraints(),
            [part for part in np.split(sigma, [problem.problem.sizes[0]]) if part.size],
            strict=True,
        )
    ]
    penalized = penalize(problem.fun, constraints) if constraints else problem.fun
    random = np.random.default_rng(seed)
    for again in itertools.count():
        size = (4 + int(3 * np.log(len(lower)))) * 2**again
        settings = {"bounds": [0, 1], "seed": seed + 1 + 1000 * again, "popsize": size, "verbose": -9}
        cma.CMAEvolutionStrategy(random.random(len(lower)), 0.3, settings).optimize(
            lambda u: float(np.nan_to_num(penalized(lower + np.asarray(u) * (upper - lower)), nan=1e300))
        )


METHODS: dict[str, Callable[[Counted, int], None]] = {
    "search": ours,
    "Sobol loop around minimize": sobol_minimize,
    "Sobol loop around SLSQP": sobol_slsqp,
    "tiktak + SLSQP": tiktak,
    "differential_evolution": evolution,
    "CMA-ES on penalize": cma_es,
    "shgo": shgo,
}


def _sobol(problem: Counted, seed: int) -> Iterator[Array]:
    lower, upper = np.array(problem.bounds).T
    sequence = qmc.Sobol(len(lower), rng=np.random.default_rng(seed))
    while True:
        yield lower + sequence.random(1)[0] * (upper - lower)


def _slsqp(problem: Counted, x: Array) -> Array:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        end = scipy.optimize.minimize(
            problem.fun, x, method="SLSQP", bounds=problem.bounds, constraints=problem.dicts(),
            options={"maxiter": 300},
        )  # fmt: skip
    lower, upper = np.array(problem.bounds).T
    return np.clip(end.x, lower, upper)


def _violations(problem: Counted, x: Array) -> Array:
    return np.concatenate([np.maximum(problem.inequalities(x), 0.0), np.abs(problem.equalities(x))])


def _weights(problem: Counted, samples: Array) -> Array:
    """What makes the middle violation of each row worth the middle range of the objective."""
    values = np.array([problem.fun(x) for x in samples])
    low, high = np.nanquantile(values, [0.25, 0.75])
    violations = np.array([_violations(problem, x) for x in samples])
    middle = [np.median(column[column > 0]) if (column > 0).any() else 1.0 for column in violations.T]
    return (high - low or 1.0) / np.array(middle)


def _merit(problem: Counted, samples: Array) -> Callable[[Array], float]:
    weights = _weights(problem, samples)

    def weigh(x: Array) -> float:
        merit = problem.fun(x) + weights @ _violations(problem, x)
        return float(np.inf if np.isnan(merit) else merit)

    return weigh
