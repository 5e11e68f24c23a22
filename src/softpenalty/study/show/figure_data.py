"""Numbers behind the seven figures: everything is computed here, :mod:`.figures` only draws.

Figs. 1–4 need no trials; Figs. 5–7 are read from the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ...formulas.kernels import KERNELS
from ...formulas.operators import penalty_function
from ...formulas.prediction import predicted_error
from ...types import Array
from ..design import published
from ..design.experiments import COLOURS, LABELS, STANDARD
from ..judge import corner, findings
from ..judge.facts import Facts
from ..judge.numbers import power_of_ten
from ..judge.sweeps import Sweep
from ..judge.trials import COLUMN_OF, Columns, group_by

QUANTILES = (0.05, 0.25, 0.50, 0.75, 0.95)
"""Whisker, box, median, box, whisker."""

_GRADIENT = 0.75  # |∇O| at which Fig. 2 marks its curves
_SIDES = (np.linspace(-10.0, 5.0, 76), np.linspace(-0.75, 0.75, 61))  # of Fig. 4: the whole, and close by
_Y_LABELS = {"error": "‖x − solution‖", "iterations": "iterations"}
_LEVELS = np.linspace(0.0, 0.97, 18)  # shares of the square below each contour of Fig. 4


@dataclass(frozen=True)
class Curve:
    """A line: `family` chooses its colour, `variant` (0, 1, 2) its dashes; `mark` is a point to emphasize."""

    label: str
    family: str
    variant: int
    x: Array
    y: Array
    mark: tuple[float, float] | None = None


@dataclass(frozen=True)
class LinePanel:
    """Medians by dimension, one curve a configuration, on logarithmic axes; `published` as diamonds."""

    title: str
    y_label: str
    curves: tuple[Curve, ...]
    published: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Panel:
    """Curves that share a pair of axes; `y_limit` caps what runs off to infinity, `legend` is a place."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    y_limit: tuple[float, float] | None = None
    legend: Literal["upper left", "upper center"] | None = "upper left"
    aside: str = ""  #: label of an axis on the right, for the curves of Courant-Beltrami
    aside_limit: tuple[float, float] | None = None


@dataclass(frozen=True)
class View:
    """Values (k, k) of a function on a square, one axis (k,) for both variables; contours at `levels`."""

    axis: Array
    values: Array
    levels: Array


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
    quantity: str
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
            legend="upper center",
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
            "penalty + objective",
            tuple(above),
            (-0.2, 2.2),
            legend=None,
        ),
        Panel(
            f"Error left at the minimum; dots mark |∇O| = {_GRADIENT:g}",
            "gradient of the objective, |∇O|",
            "error left, |ε|",
            tuple(below),
            (0.0, 1.0),
            legend=None,
        ),
    )


def normalized_panel() -> Panel:
    """Fig. 3: error left, in units of α, against the gradient in units of σ.

    Courant-Beltrami has no α: its error stands on an axis of its own, in the units of the constraint.
    """
    ratio = np.linspace(0.0, 1.0, 401)[1:-1]
    curves = []
    for kernel in ("algebraic", "softplus"):
        for variant, (operator, name) in enumerate((("<", "inequality"), ("=", "equality"))):
            error = predicted_error(ratio, 1.0, 1.0, operator, kernel)
            curves.append(Curve(f"{kernel.capitalize()} {name}", kernel, variant, ratio, error))
    error = predicted_error(ratio, 1.0, 1.0, "<", "quadratic")
    curves.append(Curve("Courant-Beltrami (right axis)", "quadratic", 0, ratio, error))
    return Panel(
        "",
        "gradient/σ",
        "error left/α",
        tuple(curves),
        (0.0, 6.0),
        "upper center",
        aside="Courant-Beltrami: error left, no α",
        aside_limit=(0.0, 0.6),
    )


def views(path: corner.Path) -> tuple[View, View]:
    """Fig. 4: the penalized function of a path, as a whole and near the solution."""
    penalized = corner.penalized_function(path.configuration)
    whole, close = (_view(axis, penalized(np.stack(np.meshgrid(axis, axis), axis=-1))) for axis in _SIDES)
    return whole, close


def _view(axis: Array, values: Array) -> View:
    return View(axis, values, np.unique(np.quantile(values, _LEVELS)))


def dimension_panels(facts: Facts, kind: str) -> tuple[BoxPanel, BoxPanel]:
    """Figs. 5 and 6: error and iterations by dimension."""
    trials = facts.experiment(kind)
    error, iterations = (
        _box_panel(
            trials,
            "dimension",
            quantity,
            LABELS[quantity],
            "dimensions",
            {
                (n, c): value
                for (k, n, c, q), value in published.MEDIANS.items()
                if (k, q) == (kind, quantity)
            },
        )
        for quantity in published.QUANTITIES
    )
    return error, iterations


def sweep_panels(facts: Facts) -> tuple[BoxPanel, BoxPanel]:
    """Fig. 7: error by σ and by α, with the laws of the sweeps as guides."""
    # The table's one cell that lies on a sweep is Courant-Beltrami at its own σ.
    known = published.COURANT_BELTRAMI
    sigma = next(c.sigma for c in STANDARD if c.name == known)
    marks = {(sigma, known): published.MEDIANS["planes", published.SWEEP_DIMENSION, known, "error"]}
    smooth = next(c for c in STANDARD if c.alpha)
    alpha = power_of_ten(smooth.alpha)
    by_sigma = _box_panel(
        facts.experiment("sigma"),
        "sigma",
        "error",
        f"Error by σ (α = {alpha} where the kernel has one)",
        "σ",
        marks,
    )
    by_alpha = _box_panel(
        facts.experiment("alpha"), "alpha", "error", f"Error by α (σ = {smooth.sigma:g})", "α", {}
    )
    return (
        replace(by_sigma, guides=_guides(facts, "sigma")),
        replace(by_alpha, guides=_guides(facts, "alpha")),
    )


def comparison_panels(facts: Facts, experiment: str) -> list[LinePanel]:
    """Balance and solvers beside the fixed configurations: distance and iterations by dimension and kind."""
    panels = []
    for quantity, words in findings.WORDS.items():
        for kind in published.KINDS:
            rows = findings.compared(facts, experiment, kind)
            names = [name for name in COLOURS if any(name in row.medians for row in rows)]
            curves = []
            for name in names:
                known = [(row.dimension, row.medians[name][quantity]) for row in rows if name in row.medians]
                x, y = np.array(known, dtype=np.float64).T
                curves.append(Curve(LABELS[name], name, 0 if name in _FIXED else 1, x, y))
            panels.append(
                LinePanel(f"{LABELS[kind]}: {words}", _Y_LABELS[_QUANTITY[quantity]], tuple(curves))
            )
    return panels


def summary_panel(facts: Facts) -> LinePanel:
    """The paper's main point in one picture: iterations on the hyperplanes by dimension."""
    kind, quantity = published.KINDS[0], "iterations"
    curves, marks = [], []
    for name in published.CONFIGURATIONS:
        ours = [
            (e.dimension, e.measured.value)
            for e in facts.entries
            if (e.kind, e.configuration, e.quantity) == (kind, name, quantity) and e.measured is not None
        ]
        if ours:
            x, y = np.array(ours, dtype=np.float64).T
            curves.append(Curve(LABELS[name], name, 0, x, y))
            marks += [(float(n), published.MEDIANS[kind, n, name, quantity]) for n, _ in ours]
    return LinePanel(f"{LABELS[kind]}: median iterations", "iterations", tuple(curves), tuple(marks))


_FIXED = {c.name for c in STANDARD}
_QUANTITY = {"distance": "error", "iterations": "iterations"}


def _box_panel(
    trials: Columns,
    column: str,
    quantity: str,
    title: str,
    x_label: str,
    medians: Mapping[tuple[float, str], float],
) -> BoxPanel:
    """Boxes by the values of a column, for the configurations that have a colour."""
    cells = group_by(trials, column, "configuration")
    values = sorted({value for value, _ in cells})
    boxes = tuple(
        _box(cell[COLUMN_OF[quantity]], name, values.index(value), medians.get((value, name)))
        for (value, name), cell in cells.items()
        if name in COLOURS
    )
    present = {box.configuration for box in boxes}
    return BoxPanel(
        title,
        x_label,
        _Y_LABELS[quantity],
        quantity,
        tuple(power_of_ten(value) if isinstance(value, float) else str(value) for value in values),
        tuple(name for name in COLOURS if name in present),
        boxes,
    )


def _guides(facts: Facts, experiment: str) -> tuple[Curve, ...]:
    """Lines of the published slope through our medians, in units of the group index and of the error."""
    measured = facts.sweeps[experiment]
    parameters = np.unique(facts.experiment(experiment)[experiment])
    guides = []
    for law in published.SLOPES:
        if law.experiment != experiment or law.configuration not in measured:
            continue
        part = measured[law.configuration].between(law.low, law.high)
        if not np.isfinite(part.line()).all():
            continue
        middle = np.mean(np.log10(part.medians)) - law.value * np.mean(np.log10(part.parameters))
        x = np.searchsorted(parameters, part.parameters).astype(np.float64)
        y = 10.0 ** (middle + law.value * np.log10(part.parameters))
        guides.append(Curve(f"slope {law.value:+g}", law.configuration, 1, x, y))
    return (*guides, *_logarithmic_guides(measured, parameters)) if experiment == "sigma" else tuple(guides)


def _logarithmic_guides(measured: Mapping[str, Sweep], parameters: Array) -> list[Curve]:
    """Softplus against σ: a straight line in log₂ σ, over the range of the algebraic law."""
    law = next(law for law in published.SLOPES if law.experiment == "sigma" and law.value > 0.0)
    guides = []
    for name in published.SMOOTH:
        if not name.startswith("softplus") or name not in measured:
            continue
        part = measured[name].between(law.low, law.high)
        if part.parameters.size > 1 and np.isfinite(part.medians).all():
            slope, constant = np.polyfit(np.log2(part.parameters), part.medians, 1)
            x = np.searchsorted(parameters, part.parameters).astype(np.float64)
            guides.append(Curve("log₂ σ", name, 1, x, constant + slope * np.log2(part.parameters)))
    return guides


def _box(values: Array, configuration: str, group: int, published_median: float | None) -> Box:
    low, first, middle, third, high = np.quantile(values, QUANTILES, method="averaged_inverted_cdf").tolist()
    return Box(configuration, group, (low, first, middle, third, high), values.size, published_median)
