"""What a report says, as data: text and HTML show the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .advice import advise, first_of, names

__all__ = ["ACTIVE", "HEAD", "VIOLATED", "WORTH", "Report", "Row", "read"]

NEARLY = 1e-2  # an inequality this close to its target, relative to max(1, |target|), nearly binds
MOST_ROWS = 20  # of the table of constraints
MOST_VARIABLES = 30
NEGLIGIBLE = 1e-9  # multipliers below this share of the largest are worth nothing
MET = 1e-10  # an error below this, relative to max(1, |target|), is shown as none: its digits are noise
ACTIVE, NEAR, VIOLATED = "active", "near", "violated"
RANK = {VIOLATED: 0, ACTIVE: 1, NEAR: 2, "": 3}
SCHEMES = {"2-point": "forward", "3-point": "central", "cs": "complex-step"}


class Row(NamedTuple):
    """One comparison: its state, ``value operator target``, slack, multiplier, worth of a unit, of 1 %."""

    state: str
    name: str
    value: str
    operator: str
    target: str
    slack: str
    multiplier: str
    unit: str
    percent: str


HEAD = Row("", "constraint", "value", "", "target", "slack", "multiplier", "by 1 unit", "by 1 %")
WORTH = "objective changes if the target rises"  # above the last two columns


@dataclass(frozen=True)
class Report:
    """All parts of a report, in their order; `columns` of the table are filled."""

    success: bool
    message: str
    facts: list[tuple[str, str]]
    variables: list[tuple[str, str]]
    rows: list[Row]
    columns: int
    notes: list[str]
    advice: str


@dataclass(frozen=True)
class _Comparison:
    """A row of numbers; `worth` is NaN where it is not known."""

    name: str
    operator: str
    error: float
    target: float
    violation: float
    multiplier: float
    active: bool

    @property
    def size(self) -> float:
        return max(1.0, abs(self.target))


def read(result: Mapping[str, Any]) -> Report:
    """The report of a result with the fields of `Result`."""
    x, kkt, unknown = result["x"], result["kkt"], result.get("uncertainty", {})
    spread = unknown.get("x", np.zeros(x.size))
    comparisons = _comparisons(result)
    largest = max((abs(c.multiplier) for c in comparisons if np.isfinite(c.multiplier)), default=0.0)
    states = [_state(c, bool(result["success"])) for c in comparisons]
    relative = [
        -c.violation / c.size if state == VIOLATED else 0.0
        for c, state in zip(comparisons, states, strict=True)
    ]
    order = sorted(range(len(states)), key=lambda i: (RANK[states[i]], relative[i]))
    shown = order[:MOST_ROWS]
    notes = _notes(result, [states[i] for i in order[MOST_ROWS:]])
    if result["success"] and not any(c.multiplier for c in comparisons):
        notes.insert(0, "No constraint holds the objective back.")
    rows = [_row(comparisons[i], states[i], NEGLIGIBLE * largest) for i in shown]
    if any(row.percent.endswith("*") for row in rows):
        notes.insert(
            0, "* By 0.01, since the target is 0: one per cent of a row that was divided by its limit."
        )
    if x.size > MOST_VARIABLES:
        notes.append(f"{x.size - MOST_VARIABLES} more variables are in `result.x`.")
    return Report(
        success=bool(result["success"]),
        message=result["message"].partition(" In conflict:")[0],  # which a note says
        facts=[
            ("objective", f"{result['fun']:.8g}{_give(unknown.get('fun', 0.0))}"),
            ("largest violation", _short(kkt["feasibility"])),
            ("stationarity residual", _short(kkt["stationarity"])),
            ("iterations", str(result["nit"])),
            ("evaluations", str(result["nfev"])),
        ],
        variables=[
            (name, f"{value:.6g}{_give(deviation)}")
            for name, value, deviation in zip(result["names"], x, spread, strict=True)
        ][:MOST_VARIABLES],
        rows=rows,
        columns=max((i + 1 for row in rows for i, cell in enumerate(row) if cell), default=0),
        notes=notes,
        advice=advise(result),
    )


def _comparisons(result: Mapping[str, Any]) -> list[_Comparison]:
    """The rows of the constraints, then those of the bounds that hold the variables."""
    active = set(result["active"])
    found = [
        _Comparison(
            label.rsplit(f" {operator} ", 1)[0],
            operator,
            error,
            target,
            violation,
            multiplier,
            label in active,
        )
        for label, operator, error, target, violation, multiplier in zip(
            *(result[key] for key in ("labels", "operators", "errors", "targets", "violations")),
            result["multiplier_vector"],
            strict=True,
        )
    ]
    x, multipliers = result["x"], result["multipliers"]["bounds"]
    lower, upper = result["bounds"]
    for i, name in enumerate(result["names"]):
        held, limits = multipliers[i], {">": lower[i], "<": upper[i]}
        if lower[i] == upper[i]:
            limits = {"=": lower[i]}
        for operator, limit in limits.items():
            error = float(x[i] - limit)
            if error == 0.0 or (held > 0.0 and operator == "<") or (held < 0.0 and operator == ">"):
                found.append(
                    _Comparison(f"{name} (bound)", operator, error, float(limit), 0.0, held, error == 0.0)
                )
    return found


def _state(c: _Comparison, success: bool) -> str:
    if not success and c.violation > MET * c.size:
        return VIOLATED
    if c.active:
        return ACTIVE
    return NEAR if abs(c.error) <= NEARLY * c.size else ""


def _row(c: _Comparison, state: str, negligible: float) -> Row:
    error = 0.0 if abs(c.error) <= MET * c.size else c.error
    slack = -abs(error) if c.operator == "=" else error if c.operator == ">" else -error
    unit = percent = ""
    multiplier = "unknown" if np.isnan(c.multiplier) else ""
    if abs(c.multiplier) > negligible:
        multiplier, unit = f"{c.multiplier:.4g}", f"{-c.multiplier:+.4g}"
        percent = f"{-0.01 * c.multiplier * (abs(c.target) or 1.0):+.3g}" + ("" if c.target else "*")
    return Row(
        state, c.name, f"{c.target + error:.6g}", c.operator, f"{c.target:.6g}",
        _short(slack), multiplier, unit, percent,
    )  # fmt: skip


def _notes(result: Mapping[str, Any], hidden: list[str]) -> list[str]:
    """What else is to be known."""
    notes = []
    if hidden:
        held = sum(state in (VIOLATED, ACTIVE) for state in hidden)
        kind = f"{held} of them active or violated" if held else "none of them active or violated"
        notes.append(f"{len(hidden)} more constraints, {kind}, are in `result.labels` and `result.errors`.")
    if result["conflict"]:
        notes.append(f"Cannot hold together: {first_of(result['conflict'], 'conflict')}.")
    for i in np.flatnonzero(np.isnan(result["multipliers"]["bounds"])):
        notes.append(
            f"{result['names'][i]} is fixed at {result['x'][i]:.6g}: what that is worth is not known, since "
            "differences do not leave the bounds; give derivatives to know it."
        )
    if result["failures"]:
        notes.append(f"The functions failed at {result['failures']} point(s), which were stepped back from.")
    if result.get("noise"):
        sizes = (f"{name} {np.max(size):.1g}" for name, size in result["noise"].items())
        notes.append(f"Noise seen (standard deviations): {', '.join(sizes)}. The ± are what it leaves.")
    if result["differences"]:
        notes.append(_differenced(result["differences"], len(result["multipliers"])))
    return notes


def _differenced(differences: Mapping[str, tuple[str, float, float]], functions: int) -> str:
    """Which derivatives are differences, of all functions, and what rounding leaves in them."""
    by_scheme: dict[str, list[str]] = {}
    for name, (scheme, _, _) in differences.items():
        by_scheme.setdefault(scheme, []).append(name)
    listed = "; ".join(
        f"{'all' if len(found) == functions > 1 else names(found)} by {SCHEMES[scheme]} differences"
        for scheme, found in by_scheme.items()
    )
    known = {name: each for name, each in differences.items() if each[1] > 0.0 and each[2] > 0.0}
    text = f"Derivatives: {listed}"
    if known:
        name, (_, error, largest) = max(known.items(), key=lambda item: item[1][1] / item[1][2])
        text += f"; good to {error:.0e} at best where the largest is {largest:.2g} ({name})"
    return f"{text}."


def _give(deviation: float) -> str:
    """What noise leaves unknown of a number."""
    return f" ± {deviation:.1g}" if deviation > 0.0 else ""


def _short(number: float) -> str:
    return f"{number + 0.0:.2g}"  # no −0
