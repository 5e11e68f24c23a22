"""What to do next, for each status of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["ADVICE", "advise", "first_of", "local", "names"]

NEARBY = "Only points nearby were looked at: another start may be feasible."
MOST_NAMES = 4  # listed in a sentence
RECENT, FALLEN = 10, 0.5  # iterations in which the residual must fall to this share, or a solve is stuck
NEGLIGIBLE_VIOLATION = 1e-8  # relative to max(1, |target|): what counts as met unless told otherwise

Result = Mapping[str, Any]


def advise(result: Result) -> str:
    """The advice for the status of a result, with its own numbers."""
    advice = ADVICE.get(result["status"])
    return "" if advice is None else advice(result)


def names(items: list[str]) -> str:
    """Some names as part of a sentence."""
    if len(items) > MOST_NAMES:
        return f"{', '.join(items[:MOST_NAMES])} and {len(items) - MOST_NAMES} more"
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def first_of(items: list[str], field: str, separator: str = ", ") -> str:
    """The first of some items in a sentence; the rest are in ``result.field``."""
    text = separator.join(items[:MOST_NAMES])
    more = len(items) - MOST_NAMES
    return f"{text} and {more} more (see `result.{field}`)" if more > 0 else text


def local(result: Result) -> str:
    """That a minimum is local, and how to look for others."""
    lower, upper = result["bounds"]
    finite = bool(np.isfinite(lower).all() and np.isfinite(upper).all())
    if finite:
        return (
            "Unless the problem is convex, this minimum is local: `softpenalty.search` looks for lower ones."
        )
    return (
        "Unless the problem is convex, this minimum is local: solve from other starts and keep the lowest "
        "objective among the successes, or give finite bounds to `softpenalty.search`."
    )


def _limit(option: str) -> Callable[[Result], str]:
    """Advice for a limit that was reached."""

    def advice(result: Result) -> str:
        history = result["history"]
        text = f"{_reached(result)} With x0=result.x or a larger options['{option}'] it goes on."
        if len(history) > RECENT:
            before, now = (history[i]["stationarity"] + history[i]["violation"] for i in (-RECENT - 1, -1))
            if not now < FALLEN * before:
                text += f" But the last {RECENT} iterations gained little: look at `result.plot()` first."
        return text

    return advice


def _reached(result: Result) -> str:
    """How good the point is at which a solve was stopped."""
    residual, violated = result["kkt"]["stationarity"], _violated(result)
    if not result["nit"] and np.isinf(residual):
        return "No iteration could be finished."
    state = f"violates {names(violated)}" if violated else "meets the constraints"
    return f"The best point so far {state}; its stationarity residual is {residual:.1e}."


def _violated(result: Result) -> list[str]:
    """Labels of the violated rows, the worst first."""
    relative = result["violations"] / np.maximum(1.0, np.abs(result["targets"]))
    order = np.argsort(-relative, kind="stable")
    return [result["labels"][i] for i in order if relative[i] > NEGLIGIBLE_VIOLATION]


def _infeasible(result: Result) -> str:
    if result["relaxation"]:
        ways = [f"{label} by about {amount:.3g}" for label, amount in result["relaxation"].items()]
        listed = first_of(ways, "relaxation", " or ")
        return f"Relax one of them, each alone by a linear estimate: {listed}. {NEARBY}"
    values = dict(zip(result["labels"], result["errors"] + result["targets"], strict=True))
    needed = [f"{values[label]:.6g} for {label}" for label in _violated(result)]
    text = f"This point would do with the target {names(needed)}. " if needed else ""
    return f"{text}{NEARBY}"


def _unbounded(result: Result) -> str:
    sizes = np.abs(result["x"])
    far = [f"{result['names'][i]} = {result['x'][i]:.3g}" for i in np.flatnonzero(sizes >= 0.1 * sizes.max())]
    return f"{names(far)} ran away: bound them, or add the constraint that holds the objective."


def _no_progress(result: Result) -> str:
    if result["differences"]:
        derivatives = (
            "Derivatives are differences: give `jac`, or set jac='3-point'. If the functions carry noise, "
            "say minimize(noise='auto'), or how much relative to their size."
        )
    else:
        derivatives = "Compare the derivatives you gave with differences (scipy.optimize.check_grad)."
    return (
        f"{_reached(result)} {derivatives} Kinks (abs, max, tables) stop a search too; where the residual is "
        "small enough for you, pass it as `tol`."
    )


def _invalid_start(result: Result) -> str:
    inside = np.array2string(result["x"], precision=6, threshold=8)
    return (
        f"Call the objective and each constraint at {inside} (x0, moved inside the bounds) to see which one "
        "fails."
    )


def _error_left(result: Result) -> str:
    relative = np.abs(result["errors"]) / np.maximum(1.0, np.abs(result["targets"]))
    held = np.where(np.abs(result["multiplier_vector"]) > 0.0, relative, 0.0)
    if not held.size or not held.any():
        return "Use method='sqp', which leaves no error."
    worst = int(np.argmax(held))
    return (
        f"The largest error, {abs(result['errors'][worst]):.2g}, is left at {result['labels'][worst]}. It is "
        "proportional to options['alpha']: divide that by as much as the error is too large, or use "
        "method='sqp', which leaves none."
    )


def _weak(result: Result) -> str:
    reached = dict(zip(result["labels"], np.abs(result["multiplier_vector"]), strict=True))
    needed = [f"{reached[label]:.3g} for {label}" for label in _violated(result)]
    text = f"Sigma has to exceed {names(needed)} by far: twice as much is a start. " if needed else ""
    return f"{text}Without options['sigma'] it is found."


def _noise_floor(result: Result) -> str:
    return f"With options['exhaust'] more evaluations average more of the noise out. {local(result)}"


def _attained(result: Result) -> str:
    more = "give derivatives" if result["differences"] else "compute the functions more precisely"
    return f"Nothing more can be seen through rounding; for more digits, {more}. {local(result)}"


# By `result.status`.
ADVICE: dict[int, Callable[[Result], str]] = {
    0: local,
    1: _limit("maxiter"),
    2: _limit("maxfev"),
    3: _infeasible,
    4: _unbounded,
    5: _no_progress,
    6: lambda result: f"Your callback stopped it. {_reached(result)} Continue with x0=result.x.",
    7: _invalid_start,
    8: _limit("max_time"),
    9: _error_left,
    10: _attained,
    11: _weak,
    12: lambda result: f"{_reached(result)} Continue with x0=result.x.",
    13: _noise_floor,
    14: lambda result: (
        f"{_reached(result)} With minimize(noise='auto') the noise is measured and averaged out."
    ),
}
