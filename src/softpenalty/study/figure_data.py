"""Numbers behind the seven figures: everything is computed here, :mod:`softpenalty.study.figures` only draws.

Figs. 1–4 need no trials; Figs. 5–7 are read from the records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize

from softpenalty.formulas.kernels import KERNELS
from softpenalty.formulas.operators import penalty_function
from softpenalty.formulas.prediction import predicted_error
from softpenalty.study import published
from softpenalty.study.measured import COLUMN_OF, Floats, Source, group_by, sweeps

QUANTILES = (0.05, 0.25, 0.50, 0.75, 0.95)
"""Whisker, box, median, box, whisker."""

_GRADIENT = 0.75  # |∇O| at which Fig. 2 marks its curves
_DIFFERENCE = 1e-6  # full width h of the paper's central differences
_PATH_START = np.array([-9.0, -8.0])
_PATH_OBJECTIVE = np.array([0.2, 0.2])
_PATH_NORMALS = np.array([[-1.0, 0.0], [1.0, -1.0]]) / np.array([[1.0], [np.sqrt(2.0)]])
_PATH_SIGMA, _PATH_ALPHA = 1.0, 0.1
_LEVELS = np.linspace(0.0, 0.97, 18)  # shares of the square below each contour of Fig. 4
_PATH_KERNELS = {
    "courant-beltrami": ("quadratic", "sum"),
    "algebraic sum": ("algebraic", "sum"),
    "algebraic norm": ("algebraic", "norm"),
}


@dataclass(frozen=True)
class Curve:
    """A line: `family` chooses its colour, `variant` (0, 1, 2) its dashes; `mark` is a point to emphasize."""

    label: str
    family: str
    variant: int
    x: Floats
    y: Floats
    mark: tuple[float, float] | None = None


@dataclass(frozen=True)
class Panel:
    """Curves that share a pair of axes; `y_limit` caps those that run off to infinity."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    y_limit: tuple[float, float] | None = None


@dataclass(frozen=True)
class View:
    """Values (k, k) of a function of two variables on a square, the same axis (k,) for both."""

    axis: Floats
    values: Floats


@dataclass(frozen=True)
class Path:
    """One optimization of Fig. 4: points (k, 2) from start to end, over a whole and a close view."""

    configuration: str
    points: Floats
    views: tuple[View, ...]
    levels: tuple[Floats, ...]

    @property
    def end(self) -> tuple[float, float]:
        """Last point."""
        return float(self.points[-1, 0]), float(self.points[-1, 1])

    @property
    def iterations(self) -> int:
        """Steps taken."""
        return len(self.points) - 1


@dataclass(frozen=True)
class Box:
    """One box: its quantiles (`QUANTILES`), its group on the axis and the published median if any."""

    configuration: str
    group: int
    quantiles: tuple[float, float, float, float, float]
    samples: int
    published: float | None


@dataclass(frozen=True)
class BoxPanel:
    """Boxes by group (dimension or parameter) with the configurations side by side, on a log axis."""

    title: str
    x_label: str
    y_label: str
    groups: tuple[str, ...]
    configurations: tuple[str, ...]
    boxes: tuple[Box, ...]
    guides: tuple[Curve, ...] = field(default=())


def kernel_panels() -> tuple[Panel, Panel, Panel]:
    """Fig. 1: the kernels, the operators and the corner width."""
    x = np.linspace(-5.0, 5.0, 201)

    def curve(label: str, variant: int, kernel: str, alpha: float = 1.0, operator: str = "<") -> Curve:
        return Curve(label, kernel, variant, x, penalty_function(x, alpha, operator=operator, kernel=kernel))

    kernels = ("linear", "algebraic", "softplus")
    names = {"<": "less than  <", "=": "equal  =", ">": "greater than  >"}
    return (
        Panel("Kernels, α = 1", "error", "penalty", tuple(curve(name, 0, name) for name in kernels)),
        Panel(
            "Operators, algebraic, α = 1",
            "error",
            "penalty",
            tuple(curve(names[op], i, "algebraic", operator=op) for i, op in enumerate(names)),
        ),
        Panel(
            "Corner width, algebraic",
            "error",
            "penalty",
            tuple(curve(f"α = {a:g}", i, "algebraic", a) for i, a in enumerate((0.25, 1.0, 2.0))),
        ),
    )


def sensitivity_panels() -> tuple[Panel, Panel]:
    """Fig. 2: where the minimum of objective + penalty lies, and how far off it is by gradient."""
    x = np.linspace(-1.0, 1.0, 401)
    gradients = np.linspace(0.0, 4.0, 801)[1:-1]
    cases = [("algebraic", i, s, a) for i, (s, a) in enumerate([(2.0, 0.2), (4.0, 0.2), (2.0, 0.05)])]
    cases += [("quadratic", i, s, 0.0) for i, s in enumerate([2.0, 4.0])]
    above, below = [], []
    for kernel, variant, sigma, alpha in cases:
        label = f"Algebraic, σ = {sigma:g}, α = {alpha:g}" if alpha else f"Courant-Beltrami, σ = {sigma:g}"
        width = alpha or 1.0  # not used by Courant-Beltrami
        minimum = float(KERNELS[kernel].inverse_slope(_GRADIENT / sigma, width))
        at = np.append(x, minimum)
        penalized = sigma * penalty_function(at, width, operator="<", kernel=kernel) - _GRADIENT * at
        left = predicted_error(gradients, sigma, width, "<", kernel)
        held = np.isfinite(left)
        above.append(Curve(label, kernel, variant, x, penalized[:-1], (minimum, float(penalized[-1]))))
        below.append(Curve(label, kernel, variant, gradients[held], left[held], (_GRADIENT, abs(minimum))))
    return (
        Panel(
            f"Penalty + objective −{_GRADIENT:g}·error; dots mark the minimum",
            "error",
            "penalized",
            tuple(above),
            (-0.2, 2.2),
        ),
        Panel(
            f"Error left at the minimum; dots mark |∇O| = {_GRADIENT:g}",
            "|∇O|",
            "|ε|",
            tuple(below),
            (0.0, 1.0),
        ),
    )


def normalized_panel() -> Panel:
    """Fig. 3: error left, in units of α, against the gradient in units of σ."""
    ratio = np.linspace(0.0, 1.0, 401)[1:-1]
    curves = []
    for kernel in ("algebraic", "softplus"):
        for variant, (operator, name) in enumerate((("<", "inequality"), ("=", "equality"))):
            error = predicted_error(ratio, 1.0, 1.0, operator, kernel)
            curves.append(Curve(f"{kernel.capitalize()} {name}", kernel, variant, ratio, error))
    error = predicted_error(ratio, 1.0, 1.0, "<", "quadratic")
    curves.append(Curve("Courant-Beltrami (not scaled by α)", "quadratic", 0, ratio, error))
    return Panel("", "∇/σ", "|ε|/α", tuple(curves), (0.0, 6.0))


def mean_errors(alpha: float = 0.1, low: float = 0.05, high: float = 0.95) -> dict[str, float]:
    """Mean of |ε| over ∇/σ from `low` to `high` with σ = 1, for the inequality of each kernel of Fig. 3."""
    ratio = np.linspace(low, high, 20_001)
    return {
        kernel: float(np.mean(predicted_error(ratio, 1.0, alpha, "<", kernel)))
        for kernel in ("algebraic", "softplus", "quadratic")
    }


def path_multipliers() -> Floats:
    """Multipliers (2,) of Fig. 4's problem at its solution, the origin: Bᵀλ = −∇O."""
    multipliers: Floats = np.linalg.solve(_PATH_NORMALS.T, -_PATH_OBJECTIVE)
    return multipliers


def path_gradient() -> float:
    """Size |∇O| of the objective's gradient in Fig. 4's problem."""
    return float(np.linalg.norm(_PATH_OBJECTIVE))


@lru_cache(maxsize=1)
def paths() -> tuple[Path, ...]:
    """Fig. 4: SciPy's BFGS with the paper's central differences on three penalized functions."""
    side = np.linspace(-10.0, 5.0, 76)
    zoom = np.linspace(-0.75, 0.75, 61)
    found = []
    for configuration in _PATH_KERNELS:
        penalized = path_function(configuration)
        points = [_PATH_START]
        _minimize(penalized, points)
        grids = (np.stack(np.meshgrid(axis, axis), axis=-1) for axis in (side, zoom))
        views = tuple(View(axis, penalized(grid)) for axis, grid in zip((side, zoom), grids, strict=True))
        levels = tuple(np.unique(np.quantile(view.values, _LEVELS)) for view in views)
        found.append(Path(configuration, np.array(points), views, levels))
    return tuple(found)


def path_function(configuration: str) -> Callable[[Floats], Floats]:
    """The penalized function of Fig. 4 for points (..., 2)."""
    kernel, combination = _PATH_KERNELS[configuration]

    def penalized(point: Floats) -> Floats:
        errors = point @ _PATH_NORMALS.T
        terms = _PATH_SIGMA * penalty_function(errors, _PATH_ALPHA, operator="<", kernel=kernel)
        penalty = terms.sum(axis=-1) if combination == "sum" else np.sqrt((terms**2).sum(axis=-1))
        total: Floats = point @ _PATH_OBJECTIVE + penalty
        return total

    return penalized


def _minimize(function: Callable[[Floats], Floats], points: list[Floats]) -> None:
    """Run BFGS from the only point in `points` and append where each iteration led."""

    def value(x: Floats) -> float:
        return float(function(x))

    def keep(xk: Floats) -> None:
        points.append(xk.copy())

    minimize(value, points[0], method="BFGS", jac=_central_differences(function), callback=keep)


def _central_differences(function: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    def gradient(point: Floats) -> Floats:
        steps = 0.5 * _DIFFERENCE * np.eye(point.size)
        difference: Floats = (function(point + steps) - function(point - steps)) / _DIFFERENCE
        return difference

    return gradient


def dimension_panels(records: Source, kind: str) -> tuple[BoxPanel, BoxPanel]:
    """Figs. 5 and 6: error and iterations by dimension."""
    cells = group_by(records.select(experiment=kind), "dimension", "configuration")
    dimensions = sorted({dimension for dimension, _ in cells})
    panels = []
    for quantity, y_label in (("error", "‖x − solution‖"), ("iterations", "iterations")):
        boxes = [
            _box(
                cell[COLUMN_OF[quantity]],
                configuration,
                dimensions.index(dimension),
                published.MEDIANS.get((kind, dimension, configuration, quantity)),
            )
            for (dimension, configuration), cell in cells.items()
            if configuration in published.CONFIGURATIONS
        ]
        groups = tuple(f"{dimension}" for dimension in dimensions)
        panels.append(
            BoxPanel(published.LABELS[quantity], "dimensions", y_label, groups, _present(boxes), tuple(boxes))
        )
    return panels[0], panels[1]


def sweep_panels(records: Source) -> tuple[BoxPanel, BoxPanel]:
    """Fig. 7: error by σ and by α, with the laws of the sweeps as guides."""
    panels = []
    for name, symbol in (("sigma", "σ"), ("alpha", "α")):
        cells = group_by(records.select(experiment=name), name, "configuration")
        parameters = sorted({parameter for parameter, _ in cells})
        boxes = [
            _box(
                cell["distance"],
                configuration,
                parameters.index(parameter),
                _published_in_sweep(name, parameter, configuration),
            )
            for (parameter, configuration), cell in cells.items()
            if configuration in published.CONFIGURATIONS
        ]
        groups = tuple(power_of_ten(parameter) for parameter in parameters)
        fixed = "α = 3·10⁻⁵ where the kernel has one" if name == "sigma" else "σ = 15"
        panels.append(
            BoxPanel(
                f"Error by {symbol} ({fixed})",
                symbol,
                "‖x − solution‖",
                groups,
                _present(boxes),
                tuple(boxes),
                _guides(records, name, parameters),
            )
        )
    return panels[0], panels[1]


def _published_in_sweep(experiment: str, parameter: float, configuration: str) -> float | None:
    """The table's one cell that lies on a sweep: Courant-Beltrami at its σ of 1e4."""
    if (experiment, configuration) == ("sigma", published.COURANT_BELTRAMI) and np.isclose(parameter, 1e4):
        return published.MEDIANS["planes", published.SWEEP_DIMENSION, configuration, "error"]
    return None


def _guides(records: Source, experiment: str, parameters: list[float]) -> tuple[Curve, ...]:
    """Lines of the published slope through our medians, in units of the group index and of the error."""
    measured = sweeps(records, experiment)
    guides = []
    for law in published.SLOPES:
        if law.experiment != experiment or law.configuration not in measured:
            continue
        part = measured[law.configuration].between(law.low, law.high)
        if not np.isfinite(part.line()).all():
            continue
        middle = np.mean(np.log10(part.medians)) - law.value * np.mean(np.log10(part.parameters))
        x = np.array([parameters.index(p) for p in part.parameters], dtype=np.float64)
        y = 10.0 ** (middle + law.value * np.log10(part.parameters))
        guides.append(Curve(f"slope {law.value:+g}", law.configuration, 1, x, y))
    return tuple(guides)


def _box(values: Floats, configuration: str, group: int, published_median: float | None) -> Box:
    low, first, middle, third, high = np.quantile(values, QUANTILES, method="averaged_inverted_cdf").tolist()
    return Box(configuration, group, (low, first, middle, third, high), values.size, published_median)


def _present(boxes: list[Box]) -> tuple[str, ...]:
    found = {box.configuration for box in boxes}
    return tuple(name for name in published.CONFIGURATIONS if name in found)


def power_of_ten(value: float) -> str:
    """Number as text with a power of ten: 10⁻⁵ for 1e-5, 2·10⁻⁵ for 2e-5; short numbers as they are.

    Examples
    --------
    >>> power_of_ten(1e-5), power_of_ten(2e-5), power_of_ten(50.0)
    ('10⁻⁵', '2·10⁻⁵', '50')
    """
    mantissa, exponent = f"{value:.2e}".split("e")
    digits = f"{float(mantissa):g}"
    if digits != "1" and 0.1 <= value < 1000.0:
        return f"{value:g}"
    power = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if digits == "1" else f"{digits}·{power}"
