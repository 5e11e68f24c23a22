"""A result in words: what holds with equality, what it is worth, what nearly binds, what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["explain"]

NEARLY = 1e-2  # an inequality this close to its target, relative to max(1, |target|), nearly binds
MOST_LINES = 20  # of each list
NEGLIGIBLE = 1e-9  # multipliers below this share of the largest are worth nothing


def explain(result: Mapping[str, Any]) -> str:
    """The report of a result with the fields of `Result`."""
    kkt = result["kkt"]
    lines = [
        result["message"],
        "",
        f"objective              {result['fun']:.10g}",
        f"largest violation      {kkt['feasibility']:.3g}",
        f"stationarity residual  {kkt['stationarity']:.3g} (relative to the gradient)",
        f"complementarity        {kkt['complementarity']:.3g}",
        f"iterations {result['nit']}, function evaluations {result['nfev']}, "
        f"derivative evaluations {result['njev']}",
    ]
    if result.get("failures"):
        lines.append(f"the functions failed at {result['failures']} point(s), which were stepped back from")
    if result.get("conflict"):
        lines += ["", "Cannot hold together:", *_listed(result["conflict"])]
    else:
        lines += _active(result) + _nearly(result)
    lines += _violated(result)
    return "\n".join(lines)


def _active(result: Mapping[str, Any]) -> list[str]:
    """What each active constraint costs."""
    multipliers, bounds = result["multiplier_vector"], np.nan_to_num(result["multipliers"]["bounds"])
    largest = max(np.abs(multipliers).max(initial=0.0), np.abs(bounds).max(initial=0.0))
    worth = [
        f"{label}: raising the target by one unit changes the objective by about {-multiplier:.4g}"
        for label, multiplier in zip(result["labels"], multipliers, strict=True)
        if abs(multiplier) > NEGLIGIBLE * largest
    ]
    worth += [
        f"x[{i}] at its {'upper' if bounds[i] > 0 else 'lower'} bound {result['x'][i]:.6g}: "
        f"raising it by one unit changes the objective by about {-bounds[i]:.4g}"
        for i in np.flatnonzero(np.abs(bounds) > NEGLIGIBLE * largest)
    ]
    worth += [
        f"x[{i}] is fixed at {result['x'][i]:.6g}: what that is worth is not known, since differences do not "
        "leave the bounds; give derivatives to know it"
        for i in np.flatnonzero(np.isnan(result["multipliers"]["bounds"]))
    ]
    if not worth:
        return ["", "No constraint holds the objective back."]
    return ["", "What holds the objective back:", *_listed(worth)]


def _nearly(result: Mapping[str, Any]) -> list[str]:
    active = set(result["active"])
    close = [
        f"{label}: {abs(error):.3g} away"
        for label, error, target in zip(result["labels"], result["errors"], result["targets"], strict=True)
        if label not in active and abs(error) <= NEARLY * max(1.0, abs(target))
    ]
    return ["", "Nearly binding:", *_listed(close)] if close else []


def _violated(result: Mapping[str, Any]) -> list[str]:
    if result["success"] or result["maxcv"] <= 0.0:
        return []
    broken = [
        f"{label}: violated by {violation:.3g}"
        for label, violation in zip(result["labels"], result["violations"], strict=True)
        if violation > 0.0
    ]
    return ["", "Violated:", *_listed(broken)] if broken else []


def _listed(items: list[str]) -> list[str]:
    shown = [f"  {item}" for item in items[:MOST_LINES]]
    return shown + ([f"  ... and {len(items) - MOST_LINES} more"] if len(items) > MOST_LINES else [])
