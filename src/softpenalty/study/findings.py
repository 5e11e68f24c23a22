"""What the paper does not have: findings of our own, each with the numbers measured from the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softpenalty.study import published
from softpenalty.study.facts import Facts, MissingRecordsError
from softpenalty.study.figure_data import power_of_ten
from softpenalty.study.measured import Columns, Source, group_by, resampled_medians
from softpenalty.study.tables import number, signed

LABELS = published.LABELS | {
    "balance norm": "Balance, norm",
    "balance sum": "Balance, sum",
    "minimize": "softpenalty.minimize",
    "slsqp": "SLSQP (SciPy)",
}
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


def findings(facts: Facts, meta: dict[str, str]) -> list[Finding]:
    """Every finding of our own; one that lacks its records says so."""
    sources: dict[str, Callable[[], Finding]] = {
        "Some hyperplane problems have no feasible point": lambda: _infeasible(facts, meta),
        "The published medians carry the noise of fewer samples": lambda: _duplicates(facts),
        "Part of the hypersphere's advantage is a finite-difference effect": lambda: _differences(facts),
        "Courant-Beltrami frays before it breaks": lambda: _fraying(facts),
        "The success flag says nothing about accuracy": lambda: _success(facts),
    }
    found = []
    for title, source in sources.items():
        try:
            found.append(source())
        except MissingRecordsError as missing:
            found.append(Finding(title, f"Not measured: the records lack {missing}."))
    return found


def _infeasible(facts: Facts, meta: dict[str, str]) -> Finding:
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
    }.get(meta.get("problems", ""), "")
    largest = max((max(r, 1.0 / r) for r in changes), default=np.nan)
    return Finding(
        "Some hyperplane problems have no feasible point",
        "Shearing turns the planes' normals but not their positions, so a slab whose normal turns past a "
        f"right angle is empty. {mode} Leaving them out changes no median error by more than a factor of "
        f"{largest:.3f}.",
        Grid(
            "Infeasible problems by dimension",
            ("N", "infeasible", "share", "median error of the feasible / of all"),
            tuple(rows),
        ),
    )


def _duplicates(facts: Facts) -> Finding:
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
    return Finding(
        "The published medians carry the noise of fewer samples",
        f"The author's forked workers shared one random state: about {distinct['table']} of the "
        f"{published.SAMPLES} problems a dimension are distinct, some of them repeated several times, and "
        f"{distinct['sweep']} of {published.SAMPLES} in each sweep. Resampling our hyperplane records shows "
        f"what that costs: the median error of {published.SAMPLES} independent problems has a standard "
        f"deviation of {full:.1f} %, of {published.EFFECTIVE_SAMPLES} (as noisy as the author's repeated "
        f"ones) {effective:.1f} %, and of {distinct['sweep']} problems {sweep:.0f} %.",
    )


def _differences(facts: Facts) -> Finding:
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
    return Finding(
        "Part of the hypersphere's advantage is a finite-difference effect",
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


def _fraying(facts: Facts) -> Finding:
    sweep = facts.sweep("sigma", published.COURANT_BELTRAMI)
    law = next(law for law in published.SLOPES if law.configuration == published.COURANT_BELTRAMI)
    lawful = sweep.between(law.low, law.high)
    rows = []
    for i, sigma in enumerate(sweep.parameters.tolist()):
        own = sweep.errors[0] * (sigma / sweep.parameters[0]) ** law.value
        astray = 100.0 * float(np.mean(sweep.errors[i] > ASTRAY * own))
        lift = float(sweep.medians[i] / np.median(own))
        rows.append(
            (
                power_of_ten(sigma),
                number(float(sweep.medians[i]), "error"),
                f"{astray:.0f} %",
                f"{number(lift, 'error')}×",
            )
        )
    last = rows[lawful.parameters.size - 1]
    return Finding(
        "Courant-Beltrami frays before it breaks",
        f"Its error falls as 1/σ for the typical problem: the median of the problems' slopes is "
        f"{signed(lawful.slope())} from {power_of_ten(lawful.parameters[0])} to "
        f"{power_of_ten(lawful.parameters[-1])}. But at σ = {last[0]} already {last[2]} of the trials end "
        f"more than {ASTRAY:g} times farther off than their own error at σ = {rows[0][0]} foretells. That "
        f"lifts the median to {last[3].rstrip('×')} times the law, and a line through the medians has a "
        f"slope of only {signed(lawful.line()[0])}.",
        Grid(
            "Courant-Beltrami by σ, hyperplanes, N = 12",
            ("σ", "median error", "trials astray", "median / law"),
            tuple(rows),
        ),
    )


def _success(facts: Facts) -> Finding:
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
    return Finding(
        "The success flag says nothing about accuracy",
        "BFGS reports a loss of precision when its line search finds no better point, which at a small α is "
        f"what arriving looks like. At α = {power_of_ten(smallest)}, where the error still follows its law, "
        f"{min(shares):.0f} to {max(shares):.0f} % of the trials do not report convergence.",
        Grid(
            "Median error, and share of trials that do not report convergence, by α",
            ("α", *(f"{LABELS[c]}, {what}" for c in published.SMOOTH for what in ("error", "not converged"))),
            tuple(rows),
        ),
    )


def comparison(records: Source, experiment: str) -> list[Grid]:
    """Medians of an experiment's configurations beside the four fixed ones, on the same problems only.

    Empty where the records hold no trial of the experiment.
    """
    return [
        Grid(f"{LABELS[kind]}: median {_WORDS[quantity]}", ("N", "problems", *names), tuple(rows))
        for kind, names, medians in _compared(records, experiment)
        for quantity in ("distance", "iterations")
        for rows in [[(str(n), str(size), *_texts(row, quantity)) for n, size, row in medians]]
    ]


def balance_summary(records: Source) -> list[str]:
    """What balance gains over the fixed parameters of the same combination, a sentence each."""
    sentences = []
    for kind, names, medians in _compared(records, "balance"):
        for combination in ("norm", "sum"):
            new, old = LABELS[f"balance {combination}"], LABELS[f"algebraic {combination}"]
            if new not in names:
                continue
            pairs = [(row[names.index(new)], row[names.index(old)]) for _, _, row in medians]
            both = [(ours, fixed) for ours, fixed in pairs if ours and fixed]
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
        alphas = np.unique(records.select(experiment="balance")["alpha"])
        used = ", ".join(f"{alpha:g}" for alpha in alphas)
        sentences.insert(0, f"The corner is soft, α = {used}; the fixed parameters need α = 3e-5.")
    return sentences


_WORDS = {"distance": "distance to the solution", "iterations": "iterations"}
Medians = dict[str, float] | None
"""Median distance and iterations of a cell, or None where it is not on record."""


def _compared(
    records: Source, experiment: str
) -> Iterator[tuple[str, list[str], list[tuple[int, int, list[Medians]]]]]:
    """(kind, column names, (N, problems, medians of each column)) on the problems of `experiment`."""
    ours = group_by(records.select(experiment=experiment), "kind", "dimension", "configuration")
    for kind in published.KINDS:
        new = sorted({c for k, _, c in ours if k == kind})
        if not new:
            continue
        fixed = group_by(records.select(experiment=kind), "kind", "dimension", "configuration")
        rows = []
        for n in sorted({n for k, n, _ in ours if k == kind}):
            cells = [ours.get((kind, n, c)) for c in new]
            problems = np.unique(np.concatenate([cell["problem"] for cell in cells if cell is not None]))
            cells += [_restricted(fixed.get((kind, n, c)), problems) for c in published.CONFIGURATIONS]
            rows.append((n, problems.size, [_medians(cell) for cell in cells]))
        yield kind, [LABELS.get(c, c) for c in (*new, *published.CONFIGURATIONS)], rows


def _restricted(cell: Columns | None, problems: NDArray[np.int64]) -> Columns | None:
    """The trials of a cell on these problems only."""
    if cell is None:
        return None
    inside = np.isin(cell["problem"], problems)
    return {name: column[inside] for name, column in cell.items()} if inside.any() else None


def _medians(cell: Columns | None) -> Medians:
    return None if cell is None else {name: float(np.median(cell[name])) for name in _WORDS}


def _texts(row: list[Medians], quantity: str) -> list[str]:
    kind = "error" if quantity == "distance" else "iterations"
    return ["–" if medians is None else number(medians[quantity], kind) for medians in row]
