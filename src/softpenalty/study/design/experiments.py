"""The experiments of the study, as data.

The paper's four are "planes", "spheres", "sigma" and "alpha". Ours are "exact" (what exact gradients change
on spheres), "balance" (sigma = 2·multiplier, the idea the paper ends with) and "solvers" (solvers of
constrained problems on the same problems).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import StudyError
from .published import DIMENSIONS, KINDS, SWEEP_DIMENSION

SIGMAS = tuple(10.0**k for k in range(1, 8))
ALPHAS = tuple(float(f"1e-{k}") for k in range(7, 0, -1))
SOLVER_SAMPLES = 50  # solvers in Python take milliseconds, not microseconds
BALANCE_ALPHA = 1e-2  # 300 times softer than the paper's: the error does not depend on it


@dataclass(frozen=True)
class Configuration:
    """A named (kernel, combination, sigma, alpha); solvers without a penalty have none of them.

    `label` is its name for people, and `colours` are those of its figures on light and on dark paper.
    """

    name: str
    label: str
    kernel: str = "none"
    combination: str = "none"
    sigma: float = 0.0
    alpha: float = 0.0
    colours: tuple[str, str] = ("#6a7683", "#9daab7")

    @property
    def penalty(self) -> dict[str, Any]:
        """What makes the penalty, as keywords."""
        return {
            "kernel": self.kernel,
            "combination": self.combination,
            "sigma": self.sigma,
            "alpha": self.alpha,
        }


@dataclass(frozen=True)
class Experiment:
    """What is solved, with which configurations and by which method.

    Attributes
    ----------
    name : str
        Its key.
    method : str
        A key of `methods.METHODS`.
    kinds, dimensions : tuples
        The problems.
    configurations : tuple of Configuration
        Each is run on every problem.
    most_samples : int, optional
        Problems per cell, however many are asked for.
    """

    name: str
    method: str
    kinds: tuple[str, ...]
    dimensions: tuple[int, ...]
    configurations: tuple[Configuration, ...]
    most_samples: int | None = None

    def cells(self) -> Iterator[tuple[str, int]]:
        """(kind, dimension) of the problems."""
        return ((kind, dimension) for kind in self.kinds for dimension in self.dimensions)


# Section 4: sigma and alpha chosen by the author for similar errors on planes. The colours are those of Okabe
# and Ito, told apart with any colour vision.
STANDARD = (
    Configuration(
        "algebraic norm", "Algebraic norm", "algebraic", "norm", 15.0, 3e-5, ("#0072b2", "#3fa2e6")
    ),
    Configuration("algebraic sum", "Algebraic sum", "algebraic", "sum", 15.0, 3e-5, ("#56b4e9", "#9ad7fa")),
    Configuration(
        "courant-beltrami", "Courant-Beltrami", "quadratic", "sum", 1e4, 0.0, ("#d55e00", "#ff8340")
    ),
    Configuration("softplus norm", "Softplus norm", "softplus", "norm", 15.0, 3e-5, ("#009e73", "#2fcf9f")),
)
_SMOOTH = tuple(configuration for configuration in STANDARD if configuration.alpha > 0.0)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("planes", "differences", ("planes",), DIMENSIONS, STANDARD),
        Experiment("spheres", "differences", ("spheres",), DIMENSIONS, STANDARD),
        Experiment(
            "sigma",
            "differences",
            ("planes",),
            (SWEEP_DIMENSION,),
            tuple(replace(configuration, sigma=sigma) for sigma in SIGMAS for configuration in STANDARD),
        ),
        Experiment(
            "alpha",
            "differences",
            ("planes",),
            (SWEEP_DIMENSION,),
            tuple(replace(configuration, alpha=alpha) for alpha in ALPHAS for configuration in _SMOOTH),
        ),
        Experiment(
            "exact",
            "exact",
            ("spheres",),
            DIMENSIONS,
            STANDARD,
        ),
        Experiment(
            "balance",
            "balance",
            KINDS,
            DIMENSIONS,
            (
                Configuration(
                    "balance norm",
                    "Balance, norm",
                    "algebraic",
                    "norm",
                    15.0,
                    BALANCE_ALPHA,
                    ("#8a3ffc", "#b98cff"),
                ),
                Configuration(
                    "balance sum",
                    "Balance, sum",
                    "algebraic",
                    "sum",
                    15.0,
                    BALANCE_ALPHA,
                    ("#c08af5", "#dcc0ff"),
                ),
            ),
        ),
        Experiment(
            "solvers",
            "solvers",
            KINDS,
            DIMENSIONS,
            (
                Configuration("minimize", "softpenalty.minimize", colours=("#c2185b", "#ff7aa8")),
                Configuration("slsqp", "SLSQP (SciPy)", colours=("#5c5346", "#c9bfae")),
            ),
            most_samples=SOLVER_SAMPLES,
        ),
    )
}
CONFIGURATIONS: dict[str, Configuration] = {}
for _experiment in EXPERIMENTS.values():
    for _configuration in _experiment.configurations:
        CONFIGURATIONS.setdefault(_configuration.name, _configuration)
COLOURS = {name: c.colours for name, c in CONFIGURATIONS.items()}
LABELS = {name: configuration.label for name, configuration in CONFIGURATIONS.items()} | {
    "planes": "Sheared hyperplanes",
    "spheres": "Hypersphere",
    "error": "Error",
    "iterations": "Iterations",
}
"""Names for people of configurations, kinds of problems and quantities."""


def choose(
    experiments: Sequence[str] | None = None,
    dimensions: Sequence[int] | None = None,
    configurations: Sequence[str] | None = None,
) -> list[Experiment]:
    """The experiments asked for, restricted to some dimensions and configurations; None means all.

    Examples
    --------
    >>> [(e.name, e.dimensions, len(e.configurations)) for e in choose(["planes", "alpha"], [8, 12])]
    [('planes', (8, 12), 4), ('alpha', (12,), 21)]
    """
    for option, asked, known in (
        ("experiments", experiments, tuple(EXPERIMENTS)),
        ("dimensions", dimensions, DIMENSIONS),
        ("configurations", configurations, tuple(CONFIGURATIONS)),
    ):
        unknown = [name for name in asked or () if name not in known]
        if unknown:
            choices = ", ".join(map(str, known))
            raise StudyError(f"--{option} has no {unknown[0]!r}; choose from: {choices}.")
    chosen = [
        replace(
            experiment,
            dimensions=tuple(d for d in experiment.dimensions if not dimensions or d in dimensions),
            configurations=tuple(
                c for c in experiment.configurations if not configurations or c.name in configurations
            ),
        )
        for name, experiment in EXPERIMENTS.items()
        if not experiments or name in experiments
    ]
    chosen = [experiment for experiment in chosen if experiment.dimensions and experiment.configurations]
    if not chosen:
        raise StudyError("No experiment has these dimensions and configurations; ask for more of them.")
    return chosen
