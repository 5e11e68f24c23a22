"""The page that benchmarks/noise.py writes, from a summary of its records that is on file too.

The summary, noise_summary.json, is all that RESULTS.md and this page need; the records themselves are large.
"""

from __future__ import annotations

import json
import platform
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from . import noise, profiles
from .markdown import table

HERE = Path(__file__).parent
SUMMARY = HERE / "noise_summary.json"
KINDS = ("random", "deterministic")
TAUS = {
    1e-2: (1e-1, 1e-2),
    1e-3: (1e-1, 1e-2, 1e-3),
    1e-4: (1e-1, 1e-2, 1e-3, 1e-4),
    1e-6: (1e-1, 1e-3, 1e-5),
    1e-8: (1e-3, 1e-5, 1e-7),
}
BUDGETS = (5, 10, 20, 50, 100)  # simulations, times n + 1, at which data profiles are read
GRID = np.arange(0.0, noise.BUDGET + 1.0)  # ... and drawn
OURS = "softpenalty"
LABELS = {
    "softpenalty": "softpenalty",
    "cobyla": "SciPy COBYLA",
    "cobyqa": "COBYQA",
    "nlopt cobyla": "NLopt COBYLA",
    "slsqp": "SLSQP (steps √noise)",
}
PARTS = {"all": "All problems", "held back": "The third that nothing was tuned on", "tuned": "The rest"}
MOST_FALSE = 10  # problems named with the most false claims
PACKAGES = ("numpy", "scipy", "nlopt")

INTRODUCTION = """\
`minimize(noise="auto")` beside derivative-free peers on the {problems} Hock-Schittkowski problems with at most {variables}
variables whose functions take no time. Objective and nonlinear rows carry noise level·max(1, |value|)·ξ: ξ is normal
and drawn anew at every point ("random"), or √2·sin of a wild function of x ("deterministic"). Linear rows and bounds
are exact. A point is simulated once, whoever asks how often, and at most {budget}(n + 1) are. What a solver returns is
judged by the functions without noise: objective within τ·max(1, |f*|) of the best known value, no row violated by more
than τ. Per cent of runs, and the median of simulations/(n + 1). Peers are told the noise as their final accuracy or,
SLSQP, as its difference step √level; ours finds it out. Constants of ours were chosen on two thirds of the problems,
by shares and simulations at 1e-2, 1e-3, 1e-6 and 1e-8; of the other third HS1, 25, 28 and 71 and the failures at 1e-6
were looked at for faults, and its shares at 1e-2 to 1e-4 had been seen when the last constant (how much errors of
gradients may hide) was settled, by the two thirds. Seeds: {seeds}.
"""  # noqa: E501

DATA_PROFILES = """\
Per cent of runs in which one of the first k(n + 1) points simulated met the test at the smallest τ of the level,
judged without noise, bounds being rows here, for all solvers alike. That a solver came by a good point does not say
that it could tell: what it returns is judged in the tables below."""  # noqa: E501


# The summary -------------------------------------------------------------------------------------------


def summarize(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Everything the pages say, as numbers."""
    records = [r for r in records if r["problem"] in noise.chosen() and r["solver"] in LABELS]
    parts = {
        "all": lambda name: True,
        "held back": noise.held_back,
        "tuned": lambda n: not noise.held_back(n),
    }
    entries = []
    for kind in KINDS:
        for level, taus in TAUS.items():
            for part, belongs in parts.items():
                for solver in LABELS:
                    wanted = (kind, level, solver)
                    mine = [r for r in records if (r["kind"], r["level"], r["solver"]) == wanted]
                    mine = [r for r in mine if belongs(r["problem"])]
                    if mine:
                        figures = _figures(mine, taus) | (
                            {"profile": _profile(mine, taus)} if part == "all" else {}
                        )
                        entries.append(
                            {"kind": kind, "level": level, "part": part, "solver": solver} | figures
                        )
    own = [r for r in records if r["solver"] == OURS]
    claims = [r for r in own if r["success"]]
    false = Counter(r["problem"] for r in claims if not noise.solved(r, 10.0 * r["level"]))
    return {
        "date": date.today().isoformat(),
        "versions": {name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "problems": len(noise.chosen()),
        "entries": entries,
        "claims": len(claims),
        "true claims": len(claims) - false.total(),
        "false claims": dict(false.most_common(MOST_FALSE)),
        "own milliseconds": round(
            1e3 * sum(r["seconds"] - r["in_functions"] for r in own) / max(sum(r["points"] for r in own), 1),
            2,
        ),
    }


def _figures(records: list[dict[str, Any]], taus: tuple[float, ...]) -> dict[str, Any]:
    """Shares solved by τ, and simulations."""
    return {
        "seeds": len({r["seed"] for r in records}),
        "runs": len(records),
        "solved": [round(100.0 * float(np.mean([noise.solved(r, tau) for r in records])), 1) for tau in taus],
        "simulations": round(float(np.median([r["points"] / (r["n"] + 1) for r in records])), 1),
    }


def _profile(records: list[dict[str, Any]], taus: tuple[float, ...]) -> list[float]:
    """The data profile at the smallest τ."""
    index = int(np.argmin(np.abs(np.log10(noise.ACCURACIES) - np.log10(taus[-1]))))
    hits = [np.inf if r["first"][index] is None else r["first"][index] / (r["n"] + 1) for r in records]
    counts = np.searchsorted(np.sort(hits), GRID, side="right")
    return [round(100.0 * int(count) / len(hits), 1) for count in counts]


# The page ----------------------------------------------------------------------------------------------


def write(records: Iterable[dict[str, Any]]) -> None:
    """Write noise_summary.json, NOISE.md and the figures."""
    summary = summarize(records)
    SUMMARY.write_text(
        json.dumps(summary, indent=None, separators=(",", ":")).replace('{"kind"', '\n{"kind"') + "\n"
    )
    (HERE / "NOISE.md").write_text("\n".join(page(summary)) + "\n", encoding="utf-8")
    for kind in KINDS:
        curves = {
            (level, TAUS[level][-1]): {LABELS[e["solver"]]: e["profile"] for e in found}
            for level in TAUS
            if (found := select(summary, kind, level))
        }
        if curves:
            profiles.save_data_profiles(HERE / "figures" / f"noise-{kind}", GRID, curves)


def select(summary: dict[str, Any], kind: str, level: float, part: str = "all") -> list[dict[str, Any]]:
    """The solvers' figures at a level of noise."""
    wanted = (kind, level, part)
    return [e for e in summary["entries"] if (e["kind"], e["level"], e["part"]) == wanted]


def page(summary: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of NOISE.md."""
    versions = ", ".join(f"{name} {number}" for name, number in summary["versions"].items())
    yield "# Noisy functions"
    yield ""
    yield f"Written by `python -m benchmarks.noise --report` on {summary['date']}; {versions}."
    yield ""
    yield INTRODUCTION.format(
        problems=summary["problems"],
        variables=noise.MOST_VARIABLES,
        budget=noise.BUDGET,
        seeds=seeds(summary),
    )
    yield claims(summary)
    yield ""
    yield "## What peers do better"
    yield ""
    yield from better(summary)
    yield ""
    yield "## Data profiles"
    yield ""
    yield DATA_PROFILES
    for kind in KINDS:
        if any(select(summary, kind, level) for level in TAUS):
            yield ""
            yield f"![Data profiles under {kind} noise](figures/noise-{kind}.svg)"
            yield ""
            yield profile_table(summary, kind)
    for part, title in PARTS.items():
        yield ""
        yield f"## {title}"
        for kind in KINDS:
            for level in TAUS:
                if found := select(summary, kind, level, part):
                    yield ""
                    yield f"**{kind} noise {level:g}**"
                    yield ""
                    yield level_table(found, TAUS[level])


def seeds(summary: dict[str, Any]) -> str:
    """Which levels have how many seeds."""
    said: dict[tuple[str, str], list[str]] = {}
    for kind in KINDS:
        for level in TAUS:
            found = {e["solver"]: e["seeds"] for e in select(summary, kind, level)}
            theirs = {count for solver, count in found.items() if solver != OURS}
            few, many = min(theirs, default=0), max(theirs, default=0)
            counts = f"{found.get(OURS, 0)} for ours, {few if few == many else f'{few} to {many}'} for peers"
            if found:
                said.setdefault((kind, counts), []).append(f"{level:g}")
    return "; ".join(f"{kind} {', '.join(levels)}: {counts}" for (kind, counts), levels in said.items())


def claims(summary: dict[str, Any]) -> str:
    """What a claimed noise floor is worth."""
    true, total = summary["true claims"], summary["claims"]
    where = ", ".join(f"{name} {count}" for name, count in summary["false claims"].items())
    return (
        f"Claims of a noise floor that are true within ten times the noise: {true} of {total}"
        f" ({100.0 * true / max(total, 1):.0f} %), most of the others being other local minima and"
        f" ill-conditioned problems ({where}). Own CPU time a simulation:"
        f" {summary['own milliseconds']:g} ms."
    )


def level_table(found: list[dict[str, Any]], taus: tuple[float, ...]) -> str:
    """Per cent solved by τ."""
    rows = [
        [
            LABELS[e["solver"]],
            *(f"{share:.0f}" for share in e["solved"]),
            f"{e['simulations']:.0f}",
            e["runs"],
        ]
        for e in found
    ]
    return table(["", *(f"τ = {tau:g}" for tau in taus), "simulations/(n+1)", "runs"], rows)


def profile_table(summary: dict[str, Any], kind: str) -> str:
    """Data profiles as numbers."""
    rows = []
    for level in TAUS:
        for e in select(summary, kind, level):
            shares = [e["profile"][int(np.searchsorted(GRID, k))] for k in BUDGETS]
            rows.append(
                [f"{level:g}, {TAUS[level][-1]:g}", LABELS[e["solver"]], *(f"{s:.0f}" for s in shares)]
            )
    return table(["noise, τ", "", *(f"k = {k}" for k in BUDGETS)], rows)


def better(summary: dict[str, Any]) -> Iterator[str]:
    """Yield which peers do better where, and why."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))["noise"]
    said = False
    for measure, title, places in beaten(summary):
        if places:
            said = True
            yield f"- **{title}**: {'; '.join(places)}. Why: {reasons[measure]}"
    if not said:
        yield "Nothing."


def beaten(summary: dict[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """For every measure its key, its title, and where peers beat ours, with the numbers."""
    for part in ("all", "held back"):
        places = []
        for kind, level, mine, peers in _pairs(summary, part):
            for i, tau in enumerate(TAUS[level]):
                ahead = [
                    f"{LABELS[p['solver']]} {p['solved'][i]:.0f}"
                    for p in peers
                    if p["solved"][i] > mine["solved"][i]
                ]
                if ahead:
                    places.append(
                        f"{kind} {level:g}, τ = {tau:g} ({mine['solved'][i]:.0f}): {', '.join(ahead)}"
                    )
        yield "solved", f"Per cent solved, {PARTS[part].lower()}", places
    fewer = []
    for kind, level, mine, peers in _pairs(summary, "all"):
        most = mine["simulations"]
        ahead = [f"{LABELS[p['solver']]} {p['simulations']:.0f}" for p in peers if p["simulations"] < most]
        if ahead:
            fewer.append(f"{kind} {level:g} ({most:.0f}): {', '.join(ahead)}")
    yield "simulations", "Fewer simulations/(n + 1) until they stop", fewer
    places = []
    for kind, level, mine, peers in _pairs(summary, "all"):
        for k in BUDGETS:
            i = int(np.searchsorted(GRID, k))
            ahead = [
                f"{LABELS[p['solver']]} {p['profile'][i]:.0f}"
                for p in peers
                if p["profile"][i] > mine["profile"][i]
            ]
            if ahead:
                places.append(f"{kind} {level:g}, k = {k} ({mine['profile'][i]:.0f}): {', '.join(ahead)}")
    yield "profile", "Data profiles", places


def _pairs(
    summary: dict[str, Any], part: str
) -> Iterator[tuple[str, float, dict[str, Any], list[dict[str, Any]]]]:
    """Kind, level, our figures and those of the peers, wherever there are both."""
    for kind in KINDS:
        for level in TAUS:
            found = select(summary, kind, level, part)
            mine = [e for e in found if e["solver"] == OURS]
            if mine and len(found) > 1:
                yield kind, level, mine[0], [e for e in found if e["solver"] != OURS]


# For RESULTS.md ----------------------------------------------------------------------------------------


def section() -> str:
    """The short section of RESULTS.md, from the summary on file; empty without one."""
    if not SUMMARY.exists():
        return ""
    summary = json.loads(SUMMARY.read_text())
    rows = []
    for kind in KINDS:
        for level, taus in TAUS.items():
            shares = {e["solver"]: e for e in select(summary, kind, level)}
            if OURS in shares:
                cells = [f"{shares[s]['solved'][-1]:.0f}" if s in shares else "–" for s in LABELS]
                rows.append(
                    [f"{kind} {level:g}", f"{taus[-1]:g}", *cells, f"{shares[OURS]['simulations']:.0f}"]
                )
    text = (
        f"No derivatives, noise in objective and nonlinear rows, {summary['problems']} Hock-Schittkowski"
        f" problems, {noise.BUDGET}(n + 1) simulations at most. Per cent of runs whose answer is within τ of"
        " the solution by the functions without noise, and ours' median of simulations/(n + 1)."
        " [NOISE.md](NOISE.md) has all τ, the third that nothing was tuned on, and data profiles."
        f" {claims(summary)}"
    )
    header = ["noise", "τ", *LABELS.values(), "simulations/(n+1)"]
    return "\n\n".join([text, table(header, rows), "Where a peer is better:", "\n".join(better(summary))])
