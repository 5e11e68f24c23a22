"""What the paper claims, judged by the records: each claim with a verdict and the numbers behind it.

Nothing is decided in advance. A claim is judged from medians of the records by the rule written next to it;
without the records it needs, the verdict is "not measured".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ...formulas.prediction import predicted_error
from ..design import published
from ..design.experiments import LABELS
from . import corner
from .facts import Facts, MissingRecordsError
from .numbers import number, signed
from .sweeps import Sweep

FIFTH = 4.5  # factors from here on round to "one fifth"
COMPARABLE = 2.0  # errors within this factor of each other count as comparable
AS_ACCURATE = 1.25  # errors up to this much above the other's count as equal
CLEARLY = 1.25  # a response this much smaller counts as less sensitive
INDEPENDENT = 1.25  # medians that vary by less than this over the dimensions count as constant
LOCAL_SLOPE = 0.1  # a decade follows a power law when its own slope is this near
FAR = 1.0  # a distance beyond this is no solution: the constraints lie 5 to 25 from the origin


class Verdict(Enum):
    """How a claim fares."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "does not hold"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our words, where it stands there, the verdict, and what was measured."""

    statement: str
    source: str
    verdict: Verdict
    measured: str


Judge = Callable[[Facts], tuple[Verdict, str]]


Rules = tuple[tuple[str, str, Judge], ...]


def headline_claims(facts: Facts) -> list[Claim]:
    """The abstract's claims and that of the conclusions."""
    rules: Rules = (
        ("With 50 variables, one fifth of Courant-Beltrami's iterations", "Abstract", _one_fifth),
        ("Fewer iterations to a solution", "Abstract", _fewer_iterations),
        ("Less sensitive to the objective's gradient", "Abstract", _gradient),
        ("Less sensitive to scaling", "Abstract", _scaling),
        ("Greater control over the accuracy of constraints", "Abstract", _control),
        ("As accurate, with one fifth of the effort", "Conclusions", _effort),
    )
    return _judged(facts, rules)


def result_claims(facts: Facts) -> list[Claim]:
    """What the section on results says beside its table."""
    rules: Rules = (
        ("On hyperplanes, the norms and Courant-Beltrami leave comparable errors", "Results", _comparable),
        ("At 50 dimensions, summing leaves four times the error of the norm", "Results", _sum_error),
        ("On the hypersphere, half of Courant-Beltrami's error", "Results", _half_error),
        ("On the hypersphere, the error does not depend on the dimension", "Results", _independent),
        ("On the hypersphere, Courant-Beltrami takes 2 to 7 times the iterations", "Results", _two_to_seven),
        ("Algebraic slightly more accurate than softplus", "Results", _algebraic_softplus),
    )
    return _judged(facts, rules)


def contradictions(facts: Facts) -> list[Claim]:
    """Statements of the text that can be held against numbers, the paper's own or ours."""
    rules: Rules = (
        ("Every hyperplane problem converges in a corner", "Experiments", _corner),
        ("The error falls with σ, as √(1/σ) and log₂(1/σ)", "Results", _falls_with_sigma),
        ("The penalty holds as long as |∇O| < σ", "Parameters", _limit),
        ("Similar average error of all kernels at α ≈ 0.1", "Parameters", _average_error),
    )
    return _judged(facts, rules)


def _judged(facts: Facts, rules: Rules) -> list[Claim]:
    """Apply each rule to the facts; a claim without the records it needs is not measured."""
    judged = []
    for statement, source, judge in rules:
        try:
            verdict, measured = judge(facts)
        except MissingRecordsError as missing:
            verdict, measured = Verdict.UNKNOWN, f"The records lack {missing}."
        judged.append(Claim(statement, source, verdict, measured))
    return judged


# ---------------------------------------------------------------------------------------- headline claims


def _one_fifth(facts: Facts) -> tuple[Verdict, str]:
    most = max(published.DIMENSIONS)
    held, parts = [], []
    for kind in published.KINDS:
        slow = facts.median(kind, most, published.COURANT_BELTRAMI, "iterations")
        factors = {c: slow / facts.median(kind, most, c, "iterations") for c in published.SMOOTH}
        held += [factor >= FIFTH for factor in factors.values()]
        listed = ", ".join(f"{factor:.1f}× those of {LABELS[c].lower()}" for c, factor in factors.items())
        parts.append(f"{LABELS[kind].lower()}: {listed}")
    return _share(held), f"Courant-Beltrami's iterations on {'; on the '.join(parts)}."


def _fewer_iterations(facts: Facts) -> tuple[Verdict, str]:
    held, slower = [], []
    for kind in published.KINDS:
        factors = facts.factors(kind, "iterations")
        held += [factor > 1.0 for factor in factors.values()]
        dimensions = sorted({n for (n, _), factor in factors.items() if factor <= 1.0})
        if dimensions:
            slower.append(f"{LABELS[kind].lower()} with N = {', '.join(map(str, dimensions))}")
    text = f"Fewer than Courant-Beltrami in {sum(held)} of {len(held)} comparisons"
    return _share(held), text + (f"; not on {' and '.join(slower)}." if slower else ".")


def _gradient(facts: Facts) -> tuple[Verdict, str]:
    # On the hypersphere only the gradient's size changes the error, and it is drawn from the same range for
    # all: the spread of the errors is the response to it.
    spreads = {}
    for configuration in published.CONFIGURATIONS:
        cells = [facts.trials("spheres", "spheres", n, configuration) for n in facts.dimensions("spheres")]
        low, high = np.quantile(np.concatenate([cell["distance"] for cell in cells]), [0.05, 0.95])
        spreads[configuration] = float(high / low)
    held = [CLEARLY * spreads[c] <= spreads[published.COURANT_BELTRAMI] for c in published.SMOOTH]
    listed = ", ".join(f"{spread:.1f} {LABELS[c]}" for c, spread in spreads.items())
    return _share(held), (
        f"Gradients from 0.01 to 5 spread nine in ten of the hypersphere's errors over a factor of: {listed}."
    )


def _scaling(facts: Facts) -> tuple[Verdict, str]:
    slopes = {}
    for configuration in published.CONFIGURATIONS:
        slopes[configuration] = facts.sweep("sigma", configuration).between(1e2, 1e5).slope()
    held = [CLEARLY * abs(slopes[c]) <= abs(slopes[published.COURANT_BELTRAMI]) for c in published.SMOOTH]
    listed = ", ".join(f"{signed(slope)} {LABELS[c]}" for c, slope in slopes.items())
    return _share(held), f"Slope of log error against log σ from 10² to 10⁵: {listed}."


def _control(facts: Facts) -> tuple[Verdict, str]:
    reach = {published.COURANT_BELTRAMI: _lawful(facts.sweep("sigma", published.COURANT_BELTRAMI), -1.0)}
    reach |= {c: _lawful(facts.sweep("alpha", c), 1.0) for c in published.SMOOTH}
    decades, smallest = reach[published.COURANT_BELTRAMI]
    held = [reach[c][0] >= decades for c in published.SMOOTH] + [
        reach[c][1] < smallest for c in published.SMOOTH
    ]
    listed = "; ".join(
        f"{LABELS[c]} {d} decades, down to {number(s, 'error')}" for c, (d, s) in reach.items()
    )
    return _share(held), f"The error follows its parameter (σ or α) in proportion over: {listed}."


def _effort(facts: Facts) -> tuple[Verdict, str]:
    effort = facts.factors("planes", "evaluations")
    error = facts.factors("planes", "error")
    n = max(facts.dimensions("planes"))
    held, parts = [], []
    for c in published.SMOOTH:
        held.append(effort[n, c] >= FIFTH and 1.0 / error[n, c] <= AS_ACCURATE)
        parts.append(f"{LABELS[c].lower()} {1 / error[n, c]:.2f}× the error for 1/{effort[n, c]:.1f}")
    return _share(held), (
        f"Error and evaluations of the function against Courant-Beltrami, hyperplanes, N = {n}: "
        f"{'; '.join(parts)}."
    )


# ------------------------------------------------------------------------------------------ other results


def _comparable(facts: Facts) -> tuple[Verdict, str]:
    factors = {key: f for key, f in facts.factors("planes", "error").items() if key[1] != "algebraic sum"}
    apart = [max(f, 1.0 / f) for f in factors.values()]
    return _share([a <= COMPARABLE for a in apart]), f"Within a factor of {max(apart):.2f} at every N."


def _sum_error(facts: Facts) -> tuple[Verdict, str]:
    by_sum = facts.median("planes", 50, "algebraic sum", "error")
    ratio = by_sum / facts.median("planes", 50, "algebraic norm", "error")
    return _share([3.5 <= ratio <= 4.5]), f"{ratio:.2f} times the error of the algebraic norm."


def _half_error(facts: Facts) -> tuple[Verdict, str]:
    shares = [1.0 / f for f in facts.factors("spheres", "error").values()]
    return _share([0.4 <= s <= 0.6 for s in shares]), (
        f"Between {min(shares):.2f} and {max(shares):.2f} of it over dimensions and configurations, "
        f"{np.mean(shares):.2f} on average."
    )


def _independent(facts: Facts) -> tuple[Verdict, str]:
    spreads = {}
    for c in published.CONFIGURATIONS:
        medians = [facts.median("spheres", n, c, "error") for n in facts.dimensions("spheres")]
        spreads[c] = max(medians) / min(medians)
    listed = ", ".join(f"{spread:.2f} {LABELS[c]}" for c, spread in spreads.items())
    return _share([s <= INDEPENDENT for s in spreads.values()]), f"Largest over smallest median: {listed}."


def _two_to_seven(facts: Facts) -> tuple[Verdict, str]:
    factors = list(facts.factors("spheres", "iterations").values())
    text = f"{min(factors):.1f} to {max(factors):.1f} times"
    try:
        exact = list(facts.factors("spheres", "iterations", experiment="exact").values())
        text += f"; with exact gradients {min(exact):.1f} to {max(exact):.1f} times"
    except MissingRecordsError:
        pass
    return _share([1.5 <= f < 7.5 for f in factors]), text + "."


def _algebraic_softplus(facts: Facts) -> tuple[Verdict, str]:
    ratios = [
        facts.median(kind, n, "algebraic norm", "error") / facts.median(kind, n, "softplus norm", "error")
        for kind in published.KINDS
        for n in facts.dimensions(kind)
    ]
    better = [ratio < 1.0 for ratio in ratios]
    average = np.exp(np.mean(np.log(ratios)))
    return _share(better), (
        f"Smaller error in {sum(better)} of {len(better)} cells, {average:.2f} times softplus' on average."
    )


# ---------------------------------------------------------------------------------- text against numbers


def _corner(facts: Facts) -> tuple[Verdict, str]:
    shares = facts.infeasible_shares()
    worst = max(shares, key=lambda n: shares[n])
    if shares[worst] == 0.0:
        return Verdict.HOLDS, "No problem on record is infeasible."
    return Verdict.FAILS, (
        f"Up to {100 * shares[worst]:.1f} % of the problems (N = {worst}) have no feasible point: only the "
        "normals are sheared, and a slab whose normal turned around is empty."
    )


def _falls_with_sigma(facts: Facts) -> tuple[Verdict, str]:
    algebraic = facts.sweep("sigma", "algebraic norm").between(1e2, 1e5)
    softplus = facts.sweep("sigma", "softplus norm").between(1e2, 1e5)
    power = algebraic.slope()
    growth = np.polyfit(np.log2(softplus.parameters), softplus.medians / softplus.medians[0], 1)[0]
    return _share([power < 0.0, growth < 0.0]), (
        f"Algebraic {_trend(power)}, as σ to the power {signed(power)}; softplus {_trend(growth)}, by "
        f"{100 * abs(growth):.0f} % of its error at σ = {softplus.parameters[0]:g} with every doubling of σ."
    )


def _trend(slope: float) -> str:
    return "falls" if slope < 0.0 else "grows"


def _limit(facts: Facts) -> tuple[Verdict, str]:
    # At σ = 10 the condition is met by all problems, so one that is lost refutes it.
    cells = facts.sweep_trials("sigma", 10.0)
    lost = {
        c: float(np.mean(cell["distance"][cell["feasible"] == 1] > FAR))
        for c, cell in sorted(cells.items())
        if c in published.SMOOTH
    }
    if not lost:
        raise MissingRecordsError("the smooth configurations at sigma = 10 of its sweep")
    listed = ", ".join(f"{100 * share:.1f} % {LABELS[c].lower()}" for c, share in lost.items())
    multipliers = corner.multipliers()
    return _share([share == 0.0 for share in lost.values()]), (
        "In the sweep at σ = 10, where |∇O| ≤ 5 always, feasible problems that end more than "
        f"{FAR:g} away: {listed}. What counts is the multipliers: in Fig. 4's problem |∇O| = "
        f"{corner.gradient_size():.3f}, but the sum needs σ > {multipliers.max():.3f} (the largest "
        f"multiplier) and the norm σ > {np.linalg.norm(multipliers):.3f} (their length)."
    )


def _average_error(_: Facts) -> tuple[Verdict, str]:
    means = mean_errors()
    apart = max(means.values()) / min(means.values())
    return _share([apart <= AS_ACCURATE]), (
        f"Mean of |ε| over 0.05 < ∇/σ < 0.95 at α = 0.1: algebraic {means['algebraic']:.3f}, softplus "
        f"{means['softplus']:.3f}, Courant-Beltrami {means['quadratic']:.3f}."
    )


def mean_errors(alpha: float = 0.1, low: float = 0.05, high: float = 0.95) -> dict[str, float]:
    """Mean of |ε| over ∇/σ from `low` to `high` with σ = 1, for the inequality of each kernel of Fig. 3."""
    ratio = np.linspace(low, high, 20_001)
    return {
        kernel: float(np.mean(predicted_error(ratio, 1.0, alpha, "<", kernel)))
        for kernel in ("algebraic", "softplus", "quadratic")
    }


# ------------------------------------------------------------------------------------------------- helpers


def _share(held: list[bool] | NDArray[np.bool_]) -> Verdict:
    """All, some or none."""
    if all(held):
        return Verdict.HOLDS
    return Verdict.PARTLY if any(held) else Verdict.FAILS


def _lawful(sweep: Sweep, slope: float) -> tuple[int, float]:
    """Longest run of decades whose own slope is near `slope`, and the smallest median error in it."""
    local = sweep.local_slopes()
    best: tuple[int, float] = (0, np.inf)
    start = 0
    for end, good in enumerate([*(np.abs(local - slope) <= LOCAL_SLOPE).tolist(), False]):
        if not good:
            if end - start > best[0]:
                best = (end - start, float(sweep.medians[start : end + 1].min()))
            start = end + 1
    return best
