"""benchmarks/SEARCH.md from the records of benchmarks/search.py; computes nothing but shares and medians."""

from __future__ import annotations

import datetime
import math
import os
import platform
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

from benchmarks.search_problems import SearchProblem

Record = Mapping[str, Any]
BUDGETS = (1_000, 5_000, 20_000, 100_000)
OURS, PLAIN = "search", "Sobol loop around minimize"
# What is to be reached: name, least share of hits, and where.
TARGETS = {5_000: (88, 75), 20_000: (92, 85)}
COST, STOPS, TURNED = 1.05, 95, 2


def page(records: list[Record], problems: Mapping[str, SearchProblem]) -> str:
    """The whole page."""
    runs = _whole([r for r in records if r["method"] != "stop" and r["problem"] in problems], problems)
    stops = [r for r in records if r["method"] == "stop"]
    turned = [r for r in records if r["problem"].startswith("turned")]
    longest = max((r["budget"] for r in runs), default=0)
    budgets = [budget for budget in BUDGETS if budget <= longest]
    parts = [
        HEAD.format(date=datetime.date.today(), machine=_machine(), versions=_versions()),
        _targets(runs, stops, turned, problems),
        _table(runs, problems, budgets),
        _stops(stops, problems),
        _misses(runs, problems),
        _problems(runs, problems),
    ]
    return "\n".join(part for part in parts if part)


HEAD = """# `search` beside other global methods

41 problems with known best values, without gradients: 29 ordinary ones (g01–g24 of CEC 2006 without g20, six
designs) and 12 with many minima (Keane's bump, packing circles, valve-point dispatch, Rastrigin's function
cut by a plane, ...). Evaluations of (objective, constraints) are counted, a point once; success is an
evaluated point that violates nothing by more than 1e-6 and is within 1e-4 of the best known objective. Best
values of problems with equalities are recomputed with exact ones, since published values allow |h| ≤ 1e-4.
Kinks and jumps (dispatch, g17) are not `search`'s domain. Written by
`python -m benchmarks.search` on {date}: {machine}; {versions}.
"""


def _whole(runs: list[Record], problems: Mapping[str, SearchProblem]) -> list[Record]:
    """The runs of seeds that have been through all problems, those of the largest budget."""
    latest: dict[tuple[str, int, str], Record] = {}
    for run in sorted(runs, key=lambda run: run["budget"]):
        latest[run["method"], run["seed"], run["problem"]] = run
    seen = Counter((method, seed) for method, seed, _ in latest)
    return [run for (method, seed, _), run in latest.items() if seen[method, seed] == len(problems)]


def share(
    runs: Iterable[Record], problems: Mapping[str, SearchProblem], budget: float, many: bool | None = None
) -> float:
    """Per cent of the runs that reached the best value within a budget; every problem counts the same."""
    hits: dict[str, list[bool]] = {}
    for run in runs:
        if many is None or problems[run["problem"]].many is many:
            reached = run["hit"] is not None and run["hit"] <= budget
            hits.setdefault(run["problem"], []).append(reached)
    return 100 * statistics.mean(statistics.mean(each) for each in hits.values()) if hits else math.nan


def cost(
    runs: Iterable[Record], problems: Mapping[str, SearchProblem], method: str, many: bool | None = None
) -> float:
    """Evaluations of a method relative to `search`'s where both hit; geometric mean over all runs."""
    hits = {(r["method"], r["problem"], r["seed"]): r["hit"] for r in runs if r["hit"]}
    ratios = [
        math.log(hit / hits[OURS, name, seed])
        for (other, name, seed), hit in hits.items()
        if other == method and (OURS, name, seed) in hits and (many is None or problems[name].many is many)
    ]
    return math.exp(statistics.mean(ratios)) if ratios else math.nan


def _of(runs: Iterable[Record], method: str) -> list[Record]:
    return [run for run in runs if run["method"] == method]


def _targets(
    runs: list[Record], stops: list[Record], turned: list[Record], problems: Mapping[str, SearchProblem]
) -> str:
    ours, lines = _of(runs, OURS), ["## What was aimed at\n", "| | aim | reached | |", "|---|--:|--:|---|"]

    def line(what: str, aim: str, value: float, met: bool, text: str) -> None:
        if not math.isnan(value):
            lines.append(f"| {what} | {aim} | {text} | {'✓' if met else 'missed'} |")

    for budget, (everything, many) in TARGETS.items():
        for what, aim, kind in (("all 41", everything, None), ("12 with many minima", many, True)):
            value = share(ours, problems, budget, kind)
            line(f"{what}, {budget:,} evaluations", f"≥ {aim} %", value, value >= aim, f"{value:.1f} %")
    hit = sum(record["hit"] is not None for record in turned)
    if turned:
        what = "Rastrigin's function turned, n = 8, 30,000 evaluations"
        line(what, f"≥ {TURNED} of {len(turned)}", hit, hit >= TURNED, f"{hit} of {len(turned)}")
    value = 1 / cost(runs, problems, PLAIN, many=False)
    line(
        "cost of ordinary problems, against the plain Sobol loop",
        f"≤ {COST}",
        value,
        value <= COST,
        f"{value:.2f}",
    )
    ended = [record for record in stops if record["stopped"] == "COMPLETE"]
    if ended:
        value = 100 * statistics.mean(record["best_in_hand"] for record in ended)
        what = f"best known in hand where the estimate ended the search ({len(ended)} stops)"
        line(what, f"≥ {STOPS} %", value, value >= STOPS, f"{value:.1f} %")
        early = sum("Keane" in record["problem"] or record["problem"] == "g02" for record in ended)
        line("stops on Keane's function", "0", early, early == 0, str(early))
        false = sum(record["success"] for record in stops if record["problem"] == "g20")
        line(
            "success claimed on g20, of which no feasible point is known", "0", false, false == 0, str(false)
        )
    return "\n".join(lines) + "\n"


TRUST = """## How far to trust it

The mix of hops was chosen while looking at some of the problems with many minima, with seeds that are among
these: their figures are optimistic, most of all that of the turned function, where earlier mixes reached the
best in anything from none to all of the runs. The first starts of the two loops around `minimize` are not
paired, so the ratio of costs is uncertain by some per cent. Peers were run with fewer seeds.
"""


def _table(runs: list[Record], problems: Mapping[str, SearchProblem], budgets: list[int]) -> str:
    heads = "/".join(f"{budget // 1000}k" for budget in budgets)
    lines = [
        TRUST,
        "## Side by side\n",
        f"Per cent of runs that reached the best known value within {heads} evaluations. Evaluations to hit",
        "are relative to `search`'s, where both hit: who reaches only the easy ones is flattered.\n",
        "| method | ordinary (29) | many minima (12) | all | median evaluations, misses included "
        "| evaluations to hit | seeds |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for method in dict.fromkeys(run["method"] for run in runs):
        own = _of(runs, method)
        cells = [f"**{method}**" if method == OURS else method]
        for many in (False, True, None):
            cells.append("/".join(f"{share(own, problems, budget, many):.0f}" for budget in budgets))
        cells.append(_number(statistics.median(run["hit"] or math.inf for run in own)))
        cells += [f"{cost(runs, problems, method):.2g}", str(len({run["seed"] for run in own}))]
        lines.append(f"| {' | '.join(cells)} |")
    slow = {run["problem"] for run in runs if run["method"] == "shgo" and run["failure"]}
    if slow:
        lines.append(
            f"\nshgo has no seed; it triangulates in as many dimensions as there are variables, and on "
            f"{len(slow)} problems it did not end within its processor time (5 s) or gave up."
        )
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return "–" if math.isinf(value) else f"{value:,.0f}"


def _stops(stops: list[Record], problems: Mapping[str, SearchProblem]) -> str:
    ended = [record for record in stops if record["stopped"] == "COMPLETE"]
    if not ended:
        return ""
    missed = [f"{r['problem']} (seed {r['seed']})" for r in ended if not r["best_in_hand"]]
    solves = statistics.median(record["solves"] for record in ended)
    spent = statistics.median(record["nfev"] for record in ended)
    never = sorted({r["problem"] for r in stops} - {r["problem"] for r in ended})
    lines = [
        '## `stop="estimate"`\n',
        f"Of {len(stops)} searches with 10,000 evaluations at most the estimate ended {len(ended)}, in the",
        f"median after {solves:.0f} solves and {_number(spent)} evaluations.",
        f"It never did on {', '.join(never) or 'none'}.",
        f"Ended without the best known in hand: {', '.join(missed) or 'none'}.",
    ]
    return "\n".join(lines) + "\n"


def _misses(runs: list[Record], problems: Mapping[str, SearchProblem]) -> str:
    """Where others reach the best value more often, or with half the evaluations."""

    def rate(method: str, name: str) -> tuple[float, float]:
        own = [r for r in _of(runs, method) if r["problem"] == name]
        hits = [r["hit"] for r in own if r["hit"]]
        return share(own, problems, math.inf), statistics.median(hits) if hits else math.inf

    methods = [method for method in dict.fromkeys(run["method"] for run in runs) if method != OURS]
    lines = ["## What others do better\n"]
    for name in problems:
        own, evaluations = rate(OURS, name)
        better = []
        for method in methods:
            theirs, spent = rate(method, name)
            if theirs > own or (theirs == own and spent < evaluations / 2):
                better.append(f"{method} ({theirs:.0f} %, {_number(spent)})")
        if better:
            lines.append(
                f"- {name}, which `search` solves in {own:.0f} % of its runs with {_number(evaluations)} "
                f"evaluations in the median: {', '.join(better)}."
            )
    return "\n".join(lines if len(lines) > 1 else [*lines, "Nothing among these problems."]) + "\n"


def _problems(runs: list[Record], problems: Mapping[str, SearchProblem]) -> str:
    methods = list(dict.fromkeys(run["method"] for run in runs))
    lines = [
        "## Problem by problem\n",
        "Median evaluations to the best known value, and how many runs reached it.\n",
        "| problem | n | rows | " + " | ".join(methods) + " |",
        "|---|--:|--:|" + "--:|" * len(methods),
    ]
    for name, problem in problems.items():
        cells = []
        for method in methods:
            own = [run for run in _of(runs, method) if run["problem"] == name]
            hits = [run["hit"] for run in own if run["hit"]]
            missed = "" if len(hits) == len(own) else f" ({len(hits)}/{len(own)})"
            cells.append(f"{statistics.median(hits):,.0f}{missed}" if hits else "–")
        lines.append(f"| {name} | {problem.n} | {sum(problem.sizes)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, one used"


def _versions() -> str:
    names = ("numpy", "scipy", "cma")
    return f"Python {platform.python_version()}, " + ", ".join(f"{n} {metadata.version(n)}" for n in names)
