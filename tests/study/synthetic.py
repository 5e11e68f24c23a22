"""Records that never ran: lognormal numbers around the published medians, for tests of what shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from softpenalty.study.design import published
from softpenalty.study.design.experiments import ALPHAS, SIGMAS, STANDARD
from softpenalty.study.judge.facts import Facts
from softpenalty.study.records import RECORDS_NAME, Records, Trial

KERNELS = {c.name: (c.kernel, c.combination, c.sigma, c.alpha) for c in STANDARD}
ERROR_SPREAD, ITERATION_SPREAD = 0.9, 0.35  # standard deviations of the logarithms, about the real ones
SOLVERS = {"minimize": (2.0, 1.5), "slsqp": (20.0, 1.0)}  # iterations on planes and, times 12, on spheres
BALANCE = {"balance norm": "algebraic norm", "balance sum": "algebraic sum"}

Change = Callable[[str, str, int, str, str], float]
Skip = Callable[[str, int, str], bool]


def unchanged(experiment: str, kind: str, dimension: int, configuration: str, quantity: str) -> float:
    return 1.0


def nothing(experiment: str, dimension: int, configuration: str) -> bool:
    return False


def needless(experiment: str, dimension: int, configuration: str) -> bool:
    """What neither the table nor the check needs."""
    return experiment in ("exact", "balance", "solvers")


def read_facts(folder: Path, samples: int = 500, *, skip: Skip = needless, **options: Any) -> Facts:
    """The facts of such records."""
    with Records(write_records(folder, samples, skip=skip, **options) / RECORDS_NAME) as records:
        return Facts(records)


def write_records(
    folder: Path,
    samples: int = 500,
    *,
    change: Change = unchanged,
    skip: Skip = nothing,
    lost: float = 0.04,
) -> Path:
    """Write ``records.sqlite`` into `folder`, and return the folder.

    `change(experiment, kind, dimension, configuration, quantity)` is a factor on the median; `skip` leaves
    out an (experiment, dimension, configuration); `lost` is the share of trials that run away from the
    smooth penalties at the smallest sigma, where it does not hold the largest multipliers.
    """
    with Records.create(
        folder / RECORDS_NAME, seed=2021, problems="published", engine="numba", samples=samples
    ) as records:
        records.append(_trials(samples, change, skip, lost), wall_seconds=1.0, cpu_seconds=2.0)
    return folder


def _trials(samples: int, change: Change, skip: Skip, lost: float) -> Iterator[Trial]:
    generator = np.random.default_rng(7)
    shape = ndtri((np.arange(samples) + 0.5) / samples)  # symmetric, so the median is the one asked for
    for experiment, kind, n, name, sigma, alpha, error, iterations in _cells():
        if skip(experiment, n, name):
            continue
        kernel, combination, _, _ = KERNELS.get(BALANCE.get(name, name), ("none", "none", 0.0, 0.0))
        distances = error * change(experiment, kind, n, name, "error") * np.exp(ERROR_SPREAD * shape)
        if (experiment, sigma) == ("sigma", min(SIGMAS)) and name != published.COURANT_BELTRAMI:
            distances[samples - round(lost * samples) :] = 30.0
        steps = iterations * change(experiment, kind, n, name, "iterations")
        counts = np.maximum(1, np.round(steps * np.exp(ITERATION_SPREAD * shape))).astype(int)
        status = np.where(generator.random(samples) < 0.5, "converged", "precision loss")
        for i in range(samples):
            feasible = int(not (kind == "planes" and n > 3 and i % 40 == 20))
            yield Trial(
                experiment, kind, n, i, 2021, name, kernel, combination, sigma, alpha, feasible,
                float(distances[i]), int(counts[i]), int(counts[i]) * (2 * n + 1), str(status[i]),
            )  # fmt: skip


def _cells() -> Iterator[tuple[str, str, int, str, float, float, float, float]]:
    for kind in published.KINDS:
        for n in published.DIMENSIONS:
            for name, (_, _, sigma, alpha) in KERNELS.items():
                medians = [published.MEDIANS[kind, n, name, quantity] for quantity in published.QUANTITIES]
                yield kind, kind, n, name, sigma, alpha, medians[0], medians[1]
                if kind == "spheres":
                    fewer = 0.4 if name == published.COURANT_BELTRAMI else 1.0
                    yield "exact", kind, n, name, sigma, alpha, medians[0], fewer * medians[1]
            for name, fixed in BALANCE.items():
                error, iterations = (published.MEDIANS[kind, n, fixed, q] for q in published.QUANTITIES)
                yield "balance", kind, n, name, 15.0, 0.01, 1e-3 * error, 0.5 * iterations
            for name, (planes, spheres) in SOLVERS.items():
                yield "solvers", kind, n, name, 0.0, 0.0, 1e-9, planes if kind == "planes" else 12.0 * spheres
    n = published.SWEEP_DIMENSION
    for name, (_, _, usual, alpha) in KERNELS.items():
        error, iterations = (published.MEDIANS["planes", n, name, q] for q in published.QUANTITIES)
        for sigma in SIGMAS:
            yield "sigma", "planes", n, name, sigma, alpha, error * _response(name, sigma, usual), iterations
        for swept in ALPHAS if alpha else ():
            factor = swept / alpha if swept > 5e-7 else 1e3
            yield "alpha", "planes", n, name, usual, swept, error * factor, iterations


def _response(name: str, sigma: float, usual: float) -> float:
    if name == published.COURANT_BELTRAMI:
        return usual / sigma if sigma < 5e5 else 1e3
    return float(np.log2(sigma) / 4.0 if name.startswith("softplus") else np.sqrt(sigma / usual))
