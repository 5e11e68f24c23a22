"""What the paper does not have: findings of our own, each with the numbers measured from the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..design import published
from ..design.experiments import EXPERIMENTS, LABELS, STANDARD
from .facts import Facts, MissingRecordsError
from .medians import resampled_medians
from .numbers import number, power_of_ten, signed
from .trials import Columns

ASTRAY = 1.5  # trials this many times off their own law have not converged
CONVERGED = "converged"  # the status of a trial that met the tolerance on the gradient


@dataclass(frozen=True)
class Grid:
    """A small table: a caption, a head and rows of text, the first column being the row's head."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Finding:
    """A finding: its title, a paragraph, and a table where there is one."""

    title: str
    text: str
    grid: Grid | None = None


Measured = tuple[str, Grid | None]


def findings(facts: Facts) -> list[Finding]:
    """Every finding of our own; one that lacks its records says so."""
    sources: dict[str, Callable[[Facts], Measured]] = {
        "Some hyperplane problems have no feasible point": _infeasible,
        "The published medians carry the noise of fewer samples": _duplicates,
        "Part of the hypersphere's advantage is a finite-difference effect": _differences,
        "Courant-Beltrami frays before it breaks": _fraying,
        "The success flag says nothing about accuracy": _success,
    }
    found = []
    for title, source in sources.items():
        try:
            text, grid = source(facts)
        except MissingRecordsError as missing:
            text, grid = f"Not measured: the records lack {missing}.", None
        found.append(Finding(title, text, grid))
    return found


def _infeasible(facts: Facts) -> Measured:
    shares = facts.infeasible_shares()
    rows = []
    changes = []
    for n, share in shares.items():
        cells = [facts.trials("planes", "planes", n, c) for c in published.CONFIGURATIONS]
        ratios = [
            float(np.median(c["distance"][c["feasible"] == 1]) / np.median(c["distance"]))
            for c in cells
            if (c["feasible"] == 1).any()
        ]
        changes += ratios
        count = int(np.sum(cells[0]["feasible"] == 0))
        size = cells[0]["feasible"].size
        span = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else "–"
        rows.append((str(n), f"{count} of {size}", f"{100 * share:.1f} %", span))
    mode = {
        "published": "The records keep them, as the paper did, and flag them.",
        "corrected": "These records were made with such problems redrawn.",
    }.get(facts.meta.get("problems", ""), "")
    largest = max((max(r, 1.0 / r) for r in changes), default=np.nan)
    return (
        "Shearing turns the planes' normals but not their positions, so a slab whose normal turns past a "
        f"right angle is empty. {mode} Leaving them out changes no median error by more than a factor of "
        f"{largest:.3f}.",
        Grid(
            "Infeasible problems by dimension",
            ("N", "infeasible", "share", "median error of the feasible / of all"),
            tuple(rows),
        ),
    )


def _duplicates(facts: Facts) -> Measured:
    noise: dict[int, float] = {}
    distinct = published.DISTINCT_SAMPLES
    for size in (published.SAMPLES, published.EFFECTIVE_SAMPLES, distinct["sweep"]):
        relative = []
        for n in facts.dimensions("planes"):
            for c in published.CONFIGURATIONS:
                medians = resampled_medians(facts.trials("planes", "planes", n, c)["distance"], size)
                relative.append(float(np.std(np.log(medians))))
        noise[size] = 100.0 * float(np.median(relative))
    full, effective, sweep = noise.values()
    return (
        f"The author's forked workers shared one random state: about {distinct['table']} of the "
        f"{published.SAMPLES} problems a dimension are distinct, some of them repeated several times, and "
        f"{distinct['sweep']} of {published.SAMPLES} in each sweep. Resampling our hyperplane records shows "
        f"what that costs: the median error of {published.SAMPLES} independent problems has a standard "
        f"deviation of {full:.1f} %, of {published.EFFECTIVE_SAMPLES} (as noisy as the author's repeated "
        f"ones) {effective:.1f} %, and of {distinct['sweep']} problems {sweep:.0f} %."
    ), None


def _differences(facts: Facts) -> Measured:
    exact = facts.dimensions("exact")
    shared = [n for n in exact if n in facts.dimensions("spheres")]
    rows, factors = [], []
    for n in shared:
        medians = [
            facts.median("spheres", n, c, "iterations", experiment)
            for c in (published.COURANT_BELTRAMI, "algebraic norm")
            for experiment in ("spheres", "exact")
        ]
        factors.append((medians[0] / medians[2], medians[1] / medians[3]))
        rows.append((str(n), *(f"{m:g}" for m in medians), *(f"{f:.1f}×" for f in factors[-1])))
    if not rows:
        raise MissingRecordsError("dimensions that “exact” and “spheres” share")
    low, high = np.min(factors, axis=0), np.max(factors, axis=0)
    return (
        "The paper differences the penalized function over 1e-6. With the exact gradient of the same "
        "function the iterations of Courant-Beltrami change most, and the advantage of the algebraic norm "
        f"over it goes from {low[0]:.1f}–{high[0]:.1f} times to {low[1]:.1f}–{high[1]:.1f} times.",
        Grid(
            "Median iterations on the hypersphere, differenced and exact gradients",
            (
                "N",
                "Courant-Beltrami, differenced",
                "exact",
                "Algebraic, differenced",
                "exact",
                "factor, differenced",
                "factor, exact",
            ),
            tuple(rows),
        ),
    )


def _fraying(facts: Facts) -> Measured:
    sweep = facts.sweep("sigma", published.COURANT_BELTRAMI)
    law = next(law for law in published.SLOPES if law.configuration == published.COURANT_BELTRAMI)
    lawful = sweep.between(law.low, law.high)
    if lawful.parameters.size < 2:
        raise MissingRecordsError(f"the sweep of sigma from {law.low:g} to {law.high:g}")
    astray, lift = [], []
    for sigma, errors, median in zip(sweep.parameters, sweep.errors, sweep.medians, strict=True):
        own = sweep.errors[0] * (sigma / sweep.parameters[0]) ** law.value
        astray.append(f"{100.0 * np.mean(errors > ASTRAY * own):.0f} %")
        lift.append(number(float(median / np.median(own)), "error"))
    sigmas = [power_of_ten(sigma) for sigma in sweep.parameters.tolist()]
    medians = [number(median, "error") for median in sweep.medians.tolist()]
    last = lawful.parameters.size - 1
    return (
        f"Its error falls as 1/σ for the typical problem: the median of the problems' slopes is "
        f"{signed(lawful.slope())} from {sigmas[0]} to {sigmas[last]}. But at σ = {sigmas[last]} already "
        f"{astray[last]} of the trials end more than {ASTRAY:g} times farther off than their own error at "
        f"σ = {sigmas[0]} foretells. That lifts the median to {lift[last]} times the law, and a line through "
        f"the medians has a slope of only {signed(lawful.line()[0])}.",
        Grid(
            f"Courant-Beltrami by σ, hyperplanes, N = {published.SWEEP_DIMENSION}",
            ("σ", "median error", "trials astray", "median / law"),
            tuple(zip(sigmas, medians, astray, [f"{factor}×" for factor in lift], strict=True)),
        ),
    )


def _success(facts: Facts) -> Measured:
    smallest = min(law.low for law in published.SLOPES if law.experiment == "alpha")
    rows, shares = [], []
    for alpha in facts.sweep("alpha", published.SMOOTH[0]).parameters.tolist():
        cells = facts.sweep_trials("alpha", alpha)
        row = [power_of_ten(alpha)]
        for c in published.SMOOTH:
            if c not in cells:
                row += ["–", "–"]
                continue
            loss = float(np.mean(cells[c]["status"] != CONVERGED))
            row += [number(float(np.median(cells[c]["distance"])), "error"), f"{100 * loss:.0f} %"]
            if np.isclose(alpha, smallest):
                shares.append(100.0 * loss)
        rows.append(tuple(row))
    if not shares:
        raise MissingRecordsError(f"alpha = {smallest:g} of its sweep")
    return (
        "BFGS reports a loss of precision when its line search finds no better point, which at a small α is "
        f"what arriving looks like. At α = {power_of_ten(smallest)}, where the error still follows its law, "
        f"{min(shares):.0f} to {max(shares):.0f} % of the trials do not report convergence.",
        Grid(
            "Median error, and share of trials that do not report convergence, by α",
            ("α", *(f"{LABELS[c]}, {what}" for c in published.SMOOTH for what in ("error", "not converged"))),
            tuple(rows),
        ),
    )


def comparison(facts: Facts, experiment: str) -> list[Grid]:
    """Medians of an experiment's configurations beside the four fixed ones, on the same problems only.

    Empty where the records hold no trial of the experiment.
    """
    grids = []
    for kind in published.KINDS:
        rows = compared(facts, experiment, kind)
        new = sorted(c.name for c in EXPERIMENTS[experiment].configurations)
        names = [name for name in new if any(name in row.medians for row in rows)]
        names += [c.name for c in STANDARD]
        for quantity, words in WORDS.items() if rows else ():
            texts = tuple(
                (str(row.dimension), str(row.problems), *(row.text(name, quantity) for name in names))
                for row in rows
            )
            head = ("N", "problems", *(LABELS[name] for name in names))
            grids.append(Grid(f"{LABELS[kind]}: median {words}", head, texts))
    return grids


def missing_configurations(facts: Facts, experiment: str) -> list[str]:
    """Labels of an experiment's configurations that have no trial on record."""
    found = set(facts.experiment(experiment)["configuration"].tolist())
    return [LABELS[c.name] for c in EXPERIMENTS[experiment].configurations if c.name not in found]


def balance_summary(facts: Facts) -> list[str]:
    """What balance gains over the fixed parameters of the same combination, a sentence each."""
    sentences = []
    for kind in published.KINDS:
        rows = compared(facts, "balance", kind)
        for combination in ("norm", "sum"):
            new, old = f"balance {combination}", f"algebraic {combination}"
            both = [(row.medians[new], row.medians[old]) for row in rows if {new, old} <= row.medians.keys()]
            if not both:
                continue
            error = [fixed["distance"] / ours["distance"] for ours, fixed in both]
            steps = [ours["iterations"] / fixed["iterations"] for ours, fixed in both]
            sentences.append(
                f"{LABELS[kind]}, {combination}: the median error is {min(error):.0f} to {max(error):.0f} "
                f"times smaller than with the fixed algebraic {combination}, for {min(steps):.2f} to "
                f"{max(steps):.2f} times the iterations."
            )
    if sentences:
        used = ", ".join(f"{alpha:g}" for alpha in np.unique(facts.experiment("balance")["alpha"]))
        fixed = ", ".join(f"{alpha:g}" for alpha in sorted({c.alpha for c in STANDARD if c.alpha}))
        sentences.insert(0, f"The corner is soft, α = {used}; the fixed parameters need α = {fixed}.")
    return sentences


def solvers_summary(facts: Facts) -> list[str]:
    """How `minimize` compares with SLSQP, and why it needs more iterations where it does, a sentence each."""
    sentences = []
    for kind in published.KINDS:
        steps = {
            row.dimension: row.medians["minimize"]["iterations"] / row.medians["slsqp"]["iterations"]
            for row in compared(facts, "solvers", kind)
            if {"minimize", "slsqp"} <= row.medians.keys()
        }
        if not steps:
            continue
        text = (
            f"{LABELS[kind]}: minimize takes {min(steps.values()):.2f} to {max(steps.values()):.2f} times "
            "the iterations of SLSQP"
        )
        more = [str(n) for n, ratio in steps.items() if ratio > 1.0]
        sentences.append(f"{text}, more at N = {', '.join(more)}." if more else f"{text}.")
        if more and kind == "spheres":
            sentences.append(WHY_MORE)
    return sentences


WHY_MORE = (
    "Why more there: SLSQP's first matrix is the identity. With a gradient of at most 5 and a start hundreds "
    "of units away, that takes its first step straight onto the sphere. The first matrix of minimize is "
    "measured by the gradient, so that its steps do not depend on the units of the objective; the tangent "
    "plane is no help so far out, and about half of its iterations pass before it is on the sphere. From "
    "there both need about the same. In other units of the objective SLSQP needs other, often more, "
    "iterations, and minimize the same ones."
)

WORDS = {"distance": "distance to the solution", "iterations": "iterations"}


@dataclass(frozen=True)
class Row:
    """Medians of `WORDS` by configuration on the same problems; what is not on record is absent."""

    dimension: int
    problems: int
    medians: dict[str, dict[str, float]]

    def text(self, configuration: str, quantity: str) -> str:
        """A median as text, a dash for none."""
        medians = self.medians.get(configuration)
        kind = "error" if quantity == "distance" else "iterations"
        return "–" if medians is None else number(medians[quantity], kind)


def compared(facts: Facts, experiment: str, kind: str) -> list[Row]:
    """A row a dimension: the configurations of `experiment`, and the fixed ones on its problems."""
    rows = []
    for n in sorted({n for e, k, n, _ in facts.cells if (e, k) == (experiment, kind)}):
        ours = {c: cell for (e, k, m, c), cell in facts.cells.items() if (e, k, m) == (experiment, kind, n)}
        problems = np.unique(np.concatenate([cell["problem"] for cell in ours.values()]))
        fixed = {c.name: facts.cells.get((kind, kind, n, c.name)) for c in STANDARD}
        cells = ours | {c: _restricted(cell, problems) for c, cell in fixed.items() if cell is not None}
        medians = {
            c: {name: float(np.median(cell[name])) for name in WORDS}
            for c, cell in cells.items()
            if cell["problem"].size
        }
        rows.append(Row(n, problems.size, medians))
    return rows


def _restricted(cell: Columns, problems: NDArray[np.int64]) -> Columns:
    """The trials of a cell on these problems only."""
    inside = np.isin(cell["problem"], problems)
    return {name: column[inside] for name, column in cell.items()}
