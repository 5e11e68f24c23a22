"""What the paper reports, as data: its large table, and how far a faithful repetition may stray from it.

The paper's medians come from 500 samples a cell of which about 320 are distinct, so they carry the noise of
about 190 samples. The bands below, about 2.6 standard deviations of that noise wide, are for display: of the
table's 128 figures one or two leave theirs by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("planes", "spheres")
DIMENSIONS = (2, 3, 5, 8, 12, 20, 32, 50)
CONFIGURATIONS = ("algebraic norm", "algebraic sum", "courant-beltrami", "softplus norm")
SMOOTH = ("algebraic norm", "algebraic sum", "softplus norm")
COURANT_BELTRAMI = "courant-beltrami"
QUANTITIES = ("error", "iterations")

# Table 2 of the paper: a row a dimension, (error, iterations) in the order of CONFIGURATIONS.
_TABLE = {
    "planes": """
         2  1.22e-4  19     1.73e-4  18     1.89e-4  11      1.32e-4  18
         3  1.74e-4  35     2.72e-4  33     1.60e-4  27      1.80e-4  33
         5  2.45e-4  69     5.05e-4  79     2.39e-4  104     2.43e-4  65
         8  3.45e-4  122.5  8.25e-4  137    4.17e-4  314     3.81e-4  124
        12  3.95e-4  194    1.01e-3  194.5  5.39e-4  660     4.11e-4  187
        20  6.20e-4  378    2.02e-3  453    6.14e-4  1602.5  6.37e-4  364
        32  7.17e-4  557.5  2.60e-3  686    7.77e-4  2913.5  7.18e-4  521
        50  8.51e-4  863    3.69e-3  1060   9.81e-4  4277    9.07e-4  825
    """,
    "spheres": """
         2  6.97e-5  46     6.97e-5  46     1.30e-4  107     7.76e-5  45
         3  7.18e-5  51     7.18e-5  51     1.32e-4  159     7.08e-5  50
         5  7.12e-5  58     7.12e-5  58     1.13e-4  234.5   7.99e-5  55
         8  6.19e-5  57     6.19e-5  57     1.42e-4  344     7.08e-5  56
        12  5.69e-5  58     5.69e-5  58     1.62e-4  385     7.05e-5  57
        20  5.77e-5  60     5.77e-5  60     1.44e-4  438.5   7.16e-5  57.5
        32  5.35e-5  60     5.35e-5  60     1.60e-4  386     6.92e-5  59
        50  5.50e-5  64     5.50e-5  64     1.31e-4  248     7.11e-5  60.5
    """,
}


def _read_table() -> dict[tuple[str, int, str, str], float]:
    medians = {}
    for kind, text in _TABLE.items():
        for row in text.strip().splitlines():
            dimension, *numbers = row.split()
            columns = [(c, q) for c in CONFIGURATIONS for q in QUANTITIES]
            for (configuration, quantity), number in zip(columns, numbers, strict=True):
                medians[kind, int(dimension), configuration, quantity] = float(number)
    return medians


MEDIANS: dict[tuple[str, int, str, str], float] = _read_table()
"""Published median by (kind, dimension, configuration, quantity): 128 numbers."""


@dataclass(frozen=True)
class Band:
    """How far a measured median may lie from the published one.

    Parameters
    ----------
    width : float
        As a share of the published value (0.25 allows factors from 1/1.25 to 1.25), or a number of
        iterations when `counts` is true.
    counts : bool
        Whether `width` counts iterations.

    Examples
    --------
    >>> Band(0.25).deviation(1.25, published=1.0)
    1.0
    >>> Band(4, counts=True).deviation(17, published=19)
    0.5
    """

    width: float
    counts: bool = False

    def deviation(self, measured: float, published: float) -> float:
        """Distance from the published value in units of the band: up to 1 is inside, 2 is twice the band."""
        if self.counts:
            return abs(measured - published) / self.width
        if not measured > 0.0:  # a median of zero, or none at all, is no factor of anything
            return float("inf")
        ratio = measured / published
        return (max(ratio, 1.0 / ratio) - 1.0) / self.width

    def limits(self, published: float) -> tuple[float, float]:
        """Lowest and highest value inside the band."""
        if self.counts:
            return published - self.width, published + self.width
        return published / (1.0 + self.width), published * (1.0 + self.width)

    def __str__(self) -> str:
        return f"±{self.width:g}" if self.counts else f"±{100.0 * self.width:.0f} %"


def band(kind: str, dimension: int, configuration: str, quantity: str) -> Band:
    """Band of one figure of the paper's table.

    Examples
    --------
    >>> str(band("planes", 32, "softplus norm", "iterations"))
    '±30 %'
    >>> str(band("planes", 2, "courant-beltrami", "iterations"))
    '±3'
    """
    courant_beltrami = configuration == COURANT_BELTRAMI
    if kind == "spheres":
        return Band(0.15 if courant_beltrami and quantity == "iterations" else 0.20)
    if quantity == "error":
        if courant_beltrami:
            return Band(0.35 if dimension in (2, 5, 8) else 0.30)
        return Band(0.24 if configuration == "algebraic sum" else 0.25)
    if dimension <= 3:
        return Band(3 if courant_beltrami and dimension == 2 else 4, counts=True)
    if courant_beltrami:
        return Band(0.10)
    if configuration == "algebraic sum":
        return Band(0.24 if dimension == 50 else 0.20)
    return Band(0.30 if dimension == 32 else 0.22)


@dataclass(frozen=True)
class Slope:
    """A law of the sweeps: log(error) against log(parameter) is a line of this slope.

    Parameters
    ----------
    experiment : str
        Name of the sweep, which is also the name of the parameter: ``"sigma"`` or ``"alpha"``.
    configuration : str
        Configuration that is swept.
    value, tolerance : float
        Slope and how far the measured one may lie from it.
    low, high : float
        Range of the parameter on which the law holds.
    """

    experiment: str
    configuration: str
    value: float
    tolerance: float
    low: float
    high: float


SLOPES = (
    *(Slope("alpha", configuration, 1.0, 0.02, 1e-6, 1e-1) for configuration in SMOOTH),
    Slope("sigma", COURANT_BELTRAMI, -1.0, 0.02, 1e1, 1e5),
    Slope("sigma", "algebraic norm", 0.5, 0.03, 1e2, 1e5),
    Slope("sigma", "algebraic sum", 0.5, 0.03, 1e2, 1e5),
)
"""Laws that the sweeps obey where central differences of width 1e-6 still resolve the penalty."""

BREAKDOWNS = (
    *(("alpha", configuration, 1e-7) for configuration in SMOOTH),
    ("sigma", COURANT_BELTRAMI, 1e6),
)
"""(experiment, configuration, parameter) where the law ends, because the differences no longer resolve it."""

SWEEP_DIMENSION = 12

DIFFERENCE_INTERVAL = 1e-6
"""Full width h of the central differences of the penalized function (section 4)."""

PATH_ENDS = {
    "courant-beltrami": (-0.200, -0.400),
    "algebraic sum": (0.041, 0.177),
    "algebraic norm": (-0.009, 0.026),
}
"""Where the three paths of Fig. 4 end."""
PATH_ITERATIONS = {"courant-beltrami": 8, "algebraic sum": 11, "algebraic norm": 15}

SAMPLES = 500
"""Samples a cell of the paper, and the least from which the bands can be judged."""
DISTINCT_SAMPLES = {"table": 320, "sweep": 24}
"""Distinct problems among the author's 500: his forked workers shared one random state."""
EFFECTIVE_SAMPLES = 190
"""Independent samples that give a median as noisy as the published ones."""
