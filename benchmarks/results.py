"""The results page, benchmarks/RESULTS.md, and its figures, from the records alone."""

from __future__ import annotations

import json
import os
import platform
import tomllib
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from . import comparison, judge, noise_page, problems, profiles, records
from .comparison import Comparison, functions, gradients, own_time, pair
from .judge import power
from .markdown import table
from .peers import OURS, PEERS

HOME = Path(__file__).parent
REFERENCE = "slsqp"
DERIVATIVES = {0: "none", 1: "first", 2: "first, second"}


def number(value: float | None, digits: int = 3) -> str:
    """A number of so many significant digits, a dash for none."""
    if value is None or not np.isfinite(value):
        return "–"
    return f"{value:.{digits}g}" if abs(value) < 10 ** (digits - 1) else f"{value:.0f}"


def write(folder: Path, page: Path = HOME / "RESULTS.md") -> Path:
    """Write the page and its figures from the records in a folder."""
    sets = {name: records.read(folder / f"{name}.jsonl") for name in ("hs", "all", "scaling")}
    found = {name: Comparison(lines) for name, lines in sets.items() if lines}
    if "hs" not in found:
        raise ValueError(f"no records in {folder / 'hs.jsonl'}; run without --report-only first")
    outside_file = folder / "outside.json"
    outside = json.loads(outside_file.read_text()) if outside_file.exists() else {}
    hs, rest, scaling = found["hs"], found.get("all"), found.get("scaling")
    times = times_per_iteration(scaling) if scaling else {}
    draw(hs, times, page.parent / "figures")
    parts = [
        heading(found.values()),
        "## Where a peer is better",
        worse(hs, times, outside),
        "## Hock-Schittkowski: " + size(hs),
        "Evaluations are the larger of objective and nonlinear constraint calls, over the problems each"
        f" solver solves at {power(comparison.MAIN_TOLERANCE)}; equal consecutive points count once,"
        " linear rows nothing. Own CPU time excludes the problem's functions; the spread is half of"
        " (max − min)/median over repetitions.",
        summary(hs),
        "### Against SciPy SLSQP, on the problems both solve",
        "Ratio: geometric mean; then on how many problems fewer and more; p: sign test, two-sided.",
        ratios(hs),
        "### Performance profiles",
        "![Performance profile on gradient evaluations](figures/profile-gradients.svg)",
        "![Performance profile on own CPU time](figures/profile-time.svg)",
        "### Problems only one solver solves",
        lonely(hs),
        "### False successes",
        "Claims of success that the judge refutes (definition in `judge.py`).",
        false_successes(hs),
        "### Every failure",
        failures(hs),
        "## Robustness to scale",
        "The same problems with the objective times 1e4 and 1e-4, and with every row times a random"
        " 10^U(−3, 3). Points are judged on the unscaled problem. Solved / false successes:",
        robustness(hs),
    ]
    if scaling:
        parts += ["## Cost against size", scaling_section(scaling, times)]
    if noisy := noise_page.section():
        parts += ["## Noisy functions", noisy]
    if outside:
        parts += ["## optiprofiler's own score", outside_section(outside)]
    if rest:
        parts += [
            "## The rest of the collection: " + size(rest),
            f"At most {problems.LARGEST['maxdim']} variables and {problems.LARGEST['maxcon']} rows. Nobody"
            " tunes on these; only totals are shown, so that nobody can.",
            summary(rest),
            ratios(rest),
        ]
        if len(rest.solves) > 1:
            parts += ["Robustness to scale, solved / false successes:", robustness(rest)]
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def size(c: Comparison) -> str:
    """How many problems."""
    return f"{len(c.problems)} problems"


def heading(comparisons: Iterable[Comparison]) -> str:
    """Title, date, machine, versions and settings."""
    comparisons = list(comparisons)
    last = max(c.dates[-1] for c in comparisons)[:10]
    versions = {solver: version for c in comparisons for solver, version in c.versions.items()}
    rows = []
    for solver, peer in PEERS.items():
        if solver in versions:
            version, _, settings = versions[solver].partition("; ")
            rows.append([peer.label, f"{peer.package} {version}", settings, DERIVATIVES[peer.order]])
        else:
            rows.append([peer.label, "–", "not run", DERIVATIVES[peer.order]])
    return "\n\n".join(
        [
            "# Results",
            f"Written by `python -m benchmarks.run` on {date.today()}; last solve {last}. {machine()}."
            f" At most {problems.MAX_EVALUATIONS} evaluations and {problems.MAX_SECONDS:g} s of CPU a solve.",
            "Problems are S2MPJ's (CUTEst in Python with exact derivatives, through `optiprofiler`). One"
            " judge measures every point: solved at tol = violation ≤ min(1e-6, tol) relative to"
            " max(1, |bound|) and f ≤ f* + tol·max(1, |f*|), f* being the lowest objective"
            " among the most feasible points of all solvers. Differences of two or three problems are"
            " other local minima as often as not.",
            table(["solver", "version", "settings", "derivatives"], rows),
        ]
    )


def machine() -> str:
    """Processor, cores, system and Python."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        processor = names[0] if names else processor
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def summary(c: Comparison) -> str:
    """Solved, evaluations, own time and false successes of every solver."""
    header = ["solver", *(f"solved at {power(tol)}, %" for tol in judge.TOLERANCES)]
    header += ["functions median / p90", "gradients median / p90", "own CPU ms, median (spread)", "false"]
    rows = []
    for solver in c.solvers:
        total = len(c.of(solver))
        if not total:
            continue
        shares = [f"{100 * len(c.solved(solver, tol=tol)) / total:.1f}" for tol in judge.TOLERANCES]
        solves = [c.of(solver)[name] for name in c.solved(solver)]
        label = PEERS[solver].label + ("" if total == len(c.problems) else f" ({total} problems)")
        spread = comparison.spread(solves)
        timing = number(np.median([own_time(s) for s in solves]) if solves else None)
        timing += f" (±{50 * spread:.0f} %)" if np.isfinite(spread) else ""
        counts = [quantiles([f(s) for s in solves]) for f in (functions, gradients)]
        rows.append([label, *shares, *counts, timing, len(c.false_successes(solver))])
    return table(header, rows)


def quantiles(values: list[float]) -> str:
    """Median and 90th percentile."""
    if not values or not any(values):
        return "–"
    return f"{np.median(values):.0f} / {np.percentile(values, 90):.0f}"


def ratios(c: Comparison) -> str:
    """Every solver against the reference."""
    header = [
        "solver",
        "common",
        "functions",
        "fewer / more",
        "p",
        "gradients",
        "fewer / more",
        "p",
        "own CPU",
    ]
    rows = []
    for solver in c.solvers:
        if solver == REFERENCE:
            continue
        cells: list[Any] = []
        for cost in (functions, gradients, own_time):
            paired = pair(c.costs(solver, cost), c.costs(REFERENCE, cost))
            if not cells:
                cells.append(paired.common if paired else 0)
            if cost is own_time:
                cells.append(f"{paired.ratio:.2f}" if paired else "–")
            elif paired:
                cells += [
                    f"{paired.ratio:.2f}",
                    f"{paired.fewer} / {paired.more}",
                    f"{paired.p:.2f}" if paired.p >= 0.01 else power(paired.p),
                ]
            else:
                cells += ["–"] * 3
        rows.append([PEERS[solver].label, *cells])
    return table(header, rows)


def lonely(c: Comparison) -> str:
    """Problems solved by exactly one solver, and by none."""
    winners: dict[str, list[str]] = {name: [] for name in c.problems}
    for solver in c.solvers:
        for name in c.solved(solver):
            winners[name].append(solver)
    lines = []
    for solver in c.solvers:
        alone = [name for name, found in winners.items() if found == [solver]]
        if alone:
            lines.append(f"- {PEERS[solver].label}: {', '.join(alone)}")
    nobody = [name for name, found in winners.items() if not found]
    lines.append(f"- nobody: {', '.join(nobody) or 'none'}")
    return "\n".join(lines)


def false_successes(c: Comparison) -> str:
    """List of false successes on the plain problems."""
    lines = []
    for solver in c.solvers:
        found = c.false_successes(solver)
        if found:
            details = (f"{name} ({judge.failure(c.of(solver)[name].point, c.best[name])})" for name in found)
            lines.append(f"- {PEERS[solver].label}: {', '.join(details)}")
    return "\n".join(lines) or "None."


def failures(c: Comparison) -> str:
    """Every unsolved problem of every solver, folded away, with the judge's and the solver's words."""
    blocks = []
    for solver in c.solvers:
        found = c.of(solver)
        failed = [name for name in c.problems if name in found and name not in c.solved(solver)]
        if not failed:
            continue
        rows = []
        for name in failed:
            solve = found[name]
            claim = "success" if solve.success else "failure"
            message = solve.message.replace("|", "/")[:90]
            rows.append([name, judge.failure(solve.point, c.best[name]), claim, message])
        title = f"<summary>{PEERS[solver].label}: {len(failed)}</summary>"
        body = table(["problem", "the judge", "it claims", "its status"], rows)
        blocks.append(f"<details>{title}\n\n{body}\n\n</details>")
    return "\n\n".join(blocks)


def robustness(c: Comparison) -> str:
    """Solved and false successes on every variant."""
    variants = [variant for variant in problems.VARIANTS if variant in c.solves]
    rows = []
    for solver in c.solvers:
        cells = []
        for variant in variants:
            total = len(c.of(solver, variant))
            good, false = len(c.solved(solver, variant)), len(c.false_successes(solver, variant))
            cells.append(f"{good} / {false}" if total == len(c.problems) else f"{good} of {total} / {false}")
        if any(c.of(solver, variant) for variant in variants if variant != "plain"):
            rows.append([PEERS[solver].label, *cells])
    return table(["solver", *variants], rows) if rows else "Not run."


def times_per_iteration(c: Comparison) -> dict[str, dict[int, float]]:
    """Own CPU milliseconds per iteration by solver and number of variables."""
    times: dict[str, dict[int, float]] = {}
    for solver in c.solvers:
        found = {
            int(name.split("-")[1]): own_time(solve) / solve.nit
            for name, solve in c.of(solver).items()
            if solve.nit and solve.own
        }
        if found:
            times[solver] = dict(sorted(found.items()))
    return times


def scaling_section(c: Comparison, times: dict[str, dict[int, float]]) -> str:
    """Table of own time per iteration with the fitted exponent."""
    sizes = sorted({n for found in times.values() for n in found})
    rows = []
    for solver, found in times.items():
        label = PEERS[solver].label
        cells = [number(found.get(n)) for n in sizes]
        large = [n for n in found if n >= 50]
        slope = (
            f"{comparison.fitted_exponent(large, [found[n] for n in large]):.2f}" if len(large) > 1 else "–"
        )
        iterations = [c.of(solver)[f"CHAIN-{n}"].nit if n in found else "–" for n in sizes]
        solved = len(c.solved(solver))
        rows.append([label, *cells, slope, " ".join(map(str, iterations)), f"{solved} of {len(found)}"])
    text = (
        "A chain of n variables in n/2 discs, with bounds (`problems.chain`). Own CPU milliseconds per"
        " iteration, the exponent of n fitted from n = 50 on, and the iterations needed."
    )
    header = ["solver", *(f"n = {n}" for n in sizes), "exponent", "iterations", "solved"]
    return "\n\n".join([text, table(header, rows), "![Cost against size](figures/scaling.svg)"])


def outside_section(outside: dict[str, Any]) -> str:
    """optiprofiler's scores."""
    names = list(outside["scores"])
    solvers = list(next(iter(outside["scores"].values())))
    rows = [[solver, *(f"{outside['scores'][f][solver]:.3f}" for f in names)] for solver in solvers]
    return f"{outside['settings']} Higher is better, 1 is the best.\n\n" + table(["solver", *names], rows)


def draw(hs: Comparison, times: dict[str, dict[int, float]], folder: Path) -> None:
    """Draw all figures."""
    solvers = [solver for solver in hs.solvers if PEERS[solver].order and solver in profiles.STYLES]
    for name, cost, label in (
        ("profile-gradients", gradients, "gradient evaluations"),
        ("profile-time", own_time, "own CPU time"),
    ):
        costs = {solver: hs.costs(solver, cost) for solver in solvers}
        ratios = comparison.performance_profile(costs, hs.problems)
        profiles.save(folder / name, profiles.draw_profile, ratios, label)
    if times:
        profiles.save(folder / "scaling", profiles.draw_scaling, times, size=(5.6, 3.6))


def worse(hs: Comparison, times: dict[str, dict[int, float]], outside: dict[str, Any]) -> str:
    """One line per measure and solver of ours: which peers do better, by how much, and why."""
    reasons = tomllib.loads((HOME / "reasons.toml").read_text(encoding="utf-8"))
    ours = [solver for solver in hs.solvers if solver.startswith(OURS)]
    if not ours:
        return "Ours has not been run yet."
    lines = []
    for solver in ours:
        for measure, title, better in comparisons(hs, solver, times, outside):
            if better:
                known = reasons.get(measure, {})
                why = known.get(solver, known.get("default", "no reason written down yet."))
                lines.append(f"- **{PEERS[solver].label}, {title}**: {', '.join(better)}. Why: {why}")
    return "\n".join(lines) or "Nowhere."


def comparisons(
    hs: Comparison, ours: str, times: dict[str, dict[int, float]], outside: dict[str, Any]
) -> Iterable[tuple[str, str, list[str]]]:
    """For every measure its key, its title, and the peers that beat `ours`, with the numbers."""
    peers = [solver for solver in hs.solvers if not solver.startswith(OURS)]
    for tol in judge.TOLERANCES:
        mine = len(hs.solved(ours, tol=tol))
        theirs = {peer: len(hs.solved(peer, tol=tol)) for peer in peers}
        better = [f"{PEERS[peer].label} {count}" for peer, count in theirs.items() if count > mine]
        yield "solved", f"solved at {power(tol)} ({mine})", better
    for key, title, cost in (
        ("functions", "function evaluations", functions),
        ("gradients", "gradient evaluations", gradients),
        ("own", "own CPU time", own_time),
    ):
        pairs = {peer: pair(hs.costs(ours, cost), hs.costs(peer, cost)) for peer in peers}
        better = [
            f"{PEERS[p].label} ({found.ratio:.2f}×)"
            for p, found in pairs.items()
            if found and found.ratio > 1
        ]
        yield key, f"{title}, ours over theirs on common problems", better
    for variant in problems.VARIANTS:
        for key, title, count, sign in (
            ("robustness", "solved", hs.solved, 1),
            ("false", "false successes", hs.false_successes, -1),
        ):
            if (key == "robustness" and variant == "plain") or not hs.of(ours, variant):
                continue
            mine = len(count(ours, variant))
            theirs = {peer: len(count(peer, variant)) for peer in peers if hs.of(peer, variant)}
            better = [f"{PEERS[peer].label} {n}" for peer, n in theirs.items() if sign * n > sign * mine]
            yield key, f"{title}, {variant} ({mine})", better
    if ours in times:
        better = [
            f"{PEERS[peer].label} at n = {n} ({number(found[n])} against {number(mine)} ms)"
            for peer, found in times.items()
            for n, mine in times[ours].items()
            if peer in peers and found.get(n, np.inf) < mine
        ]
        yield "scaling", "time per iteration", better
    if ours == OURS:
        for feature, scores in outside.get("scores", {}).items():
            mine = scores.get(ours, -np.inf)
            better = [f"{peer} {score:.3f}" for peer, score in scores.items() if score > mine]
            yield "outside", f"optiprofiler's score, {feature} ({mine:.3f})", better
