"""What became of a penalty at its minimum: which rows it holds, where it is too weak, what to set next.

A penalty's own multipliers say what it pulls with; those that the gradients of objective and constraints ask
for (by least squares, `needed`) say what it should pull with. At a minimum both agree. Where they do not, the
penalty is saturated or the point is not its minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..formulas.prediction import Recommendation, predicted_error
from ..formulas.prediction import recommend as recommend_for
from ..types import Array, Mask
from .constraint import numbers

if TYPE_CHECKING:
    from .penalty import Penalty

__all__ = ["Assessment", "assess", "recommend", "report"]

HOLDS = 1e-3  # share of sigma from which a multiplier holds its row at the target
SATURATED = 0.99  # share of sigma from which it is all the penalty can give
STRONGER = 2.0  # factor on the sigma of a saturated row of which the gradients say nothing
AGREE = 0.05  # difference of a multiplier from the needed one, in shares of sigma, that is no minimum's
FACTOR = 1.5  # how far off the gradient may be where `recommend` is asked without its own
BEYOND = 1.01  # times a tolerance: an error that exceeds it by more than rounding and differences
ZERO = 1e-12  # share of sigma that is shown as no multiplier


@dataclass(frozen=True)
class Assessment:
    """The rows (m,) of a penalty at a point.

    Attributes
    ----------
    errors, violations, multipliers : as the penalty has them
    needed : size of the multiplier that the gradients ask for, 0 where the row is not held
    held, saturated : whether the penalty keeps the row at its target, and whether it gives all it can
    predicted : size of the error that the penalty leaves for `needed`; NaN where that is not known
    promised : size of the error that was to be left at most; NaN where nothing was said
    """

    errors: Array
    violations: Array
    multipliers: Array
    needed: Array
    held: Mask
    saturated: Mask
    predicted: Array
    promised: Array

    @property
    def beyond(self) -> Mask:
        """Whether more error is left than promised, by a penalty that is strong enough."""
        size = np.where(self.held & ~self.saturated, np.abs(self.errors), 0.0)
        beyond: Mask = size > BEYOND * np.nan_to_num(self.promised, nan=np.inf)
        return beyond


def assess(penalty: Penalty, x: ArrayLike, tolerance: ArrayLike | None = None) -> Assessment:
    """Look at a penalty at x; `tolerance` (or (m,) of them) is the error that was to be left at most.

    Without it that is the error which `softpenalty.recommend` promises for the penalty's alpha.
    """
    errors, multipliers = penalty.errors(x), penalty.multipliers(x)
    rows, sigma = penalty.rows, penalty.sigma
    violations = rows.violations(errors)
    size = np.abs(multipliers)
    held = size > HOLDS * sigma if penalty.kernel.saturates else violations > 0.0
    share = size / sigma
    if _together(penalty):
        share = np.where(held, penalty.combination.strength(share), share)
    saturated = held & (share >= SATURATED) & (violations > 0.0) & penalty.kernel.saturates
    needed = np.where(held, _needed(penalty, x, held), 0.0)
    needed = np.where(saturated, np.maximum(needed, STRONGER * sigma), needed)
    predicted = np.full(len(rows), np.nan)
    if _predictable(penalty, held):
        predicted = np.where(held, _error(penalty, needed, sigma, penalty.alpha), np.nan)
    return Assessment(
        errors, violations, multipliers, needed, held, saturated, predicted, _promised(penalty, tolerance)
    )


def recommend(penalty: Penalty, x: ArrayLike, tolerance: ArrayLike, factor: float = FACTOR) -> Recommendation:
    """Return the next sigma and alpha of each row (m,), and the error they leave.

    See `Penalty.recommend`.
    """
    penalty.errors(x)  # from here on it knows its rows
    wanted = _tolerances(penalty, "Penalty.recommend", tolerance)
    seen = assess(penalty, x, wanted)
    if not wanted.size:
        return Recommendation(wanted, wanted, wanted)
    balanced = 0.5 * penalty.combination.balance(seen.needed)  # what each row's sigma is to be twice of
    known = seen.held & (balanced > 0.0)
    # A row that is not held keeps its weight; its corner becomes as sharp as the others'.
    gradient = np.where(known, balanced, penalty.sigma / (factor + 1.0 / factor))
    sides = [recommend_for(gradient, wanted, operator, penalty.kernel, factor) for operator in ("<", "=")]
    sigma, alpha, error = (np.where(penalty.rows.equality, b, a) for a, b in zip(*sides, strict=True))
    return Recommendation(np.where(known, sigma, penalty.sigma), alpha, error)


def report(penalty: Penalty, x: ArrayLike, tolerance: ArrayLike | None = None) -> str:
    """Return a table of all rows at x and a verdict on each that is not as it should be."""
    seen = assess(penalty, x, tolerance)
    head = ["", "constraint", "error", "violation", "multiplier", "sigma", "predicted |error|"]
    rows = [head]
    for i, label in enumerate(penalty.labels):
        state = "saturated" if seen.saturated[i] else "held" if seen.held[i] else ""
        multiplier = seen.multipliers[i] if abs(seen.multipliers[i]) > ZERO * penalty.sigma[i] else 0.0
        numbers = (seen.errors[i], seen.violations[i], multiplier, penalty.sigma[i])
        predicted = "" if np.isnan(seen.predicted[i]) else _digits(seen.predicted[i])
        rows.append([state, label, *map(_digits, numbers), predicted])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = [
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    first = f"objective {penalty.objective(x):.6g}, penalty {penalty.penalty(x):.6g}"
    asked = "that `recommend` promises for this alpha" if tolerance is None else "wanted"
    return "\n".join([first, "", *table, "", *_verdicts(penalty, x, seen, asked)])


def _verdicts(penalty: Penalty, x: ArrayLike, seen: Assessment, asked: str) -> list[str]:
    """Sentences on the rows that are not as they should be, or one that all is well."""
    wanted = np.where(np.isnan(seen.promised), np.maximum(np.abs(seen.errors), 1e-300), seen.promised)
    choice = recommend(penalty, x, wanted)
    lines = []
    found = np.abs(seen.multipliers)
    unit = penalty.sigma if penalty.kernel.saturates else np.maximum(found, seen.needed)
    apart = seen.held & (np.abs(found - seen.needed) > AGREE * unit)
    for i, label in enumerate(penalty.labels):
        if seen.saturated[i]:
            lines.append(
                f"{label}: saturated, the objective pulls harder than sigma = {penalty.sigma[i]:.3g}. Raise "
                f"sigma to {choice.sigma[i]:.3g} or the constraint is ignored."
            )
        elif apart[i]:
            lines.append(
                f"{label}: the multiplier is {abs(seen.multipliers[i]):.3g} where the gradients ask for "
                f"{seen.needed[i]:.3g} (error {abs(seen.errors[i]):.2g}{_predicted(seen.predicted[i])}): "
                "this is not the minimum of the penalty; minimize on, or start elsewhere."
            )
        elif seen.beyond[i]:
            alpha = f" and alpha = {choice.alpha[i]:.3g}" if penalty.kernel.has_width else ""
            lines.append(
                f"{label}: the error {abs(seen.errors[i]):.2g} exceeds the {seen.promised[i]:.2g} {asked}. "
                f"sigma = {choice.sigma[i]:.3g}{alpha} would reach it."
            )
    if lines:
        return lines
    if not seen.held.any():
        return ["No constraint is held by the penalty: all are met without it."]
    if np.isnan(seen.promised[seen.held]).any():
        return ["The penalty holds. Say `report(x, tolerance)` to have the errors judged."]
    return [f"The penalty holds, and errors are as small as {asked.removeprefix('that ')}."]


def _predicted(error: float) -> str:
    return "" if np.isnan(error) else f", predicted {error:.2g}"


def _digits(number: float) -> str:
    return f"{number + 0.0:.4g}"  # no −0


def _needed(penalty: Penalty, x: ArrayLike, held: Mask) -> Array:
    """Size of the multipliers (m,) that balance the objective's gradient best, of the rows that are held."""
    needed = np.zeros(held.size)
    if held.any():
        point = np.asarray(x, dtype=float)
        gradient, jacobian = penalty.evaluation.derivatives(point)
        dense = jacobian.toarray() if hasattr(jacobian, "toarray") else jacobian
        normals = np.vstack([dense, np.eye(point.size)])[penalty.rows.source[held]]
        found = np.linalg.lstsq(normals.T, -gradient, rcond=None)[0]
        signed = found * np.sign(penalty.multipliers(point)[held])
        needed[held] = np.maximum(signed, 0.0)  # one that would pull the other way is none
    return needed


def _together(penalty: Penalty) -> bool:
    """Whether all rows share one sigma's worth of pull."""
    return penalty.combination.name == "norm"


def _predictable(penalty: Penalty, held: Mask) -> bool:
    """Whether the error follows from a row's own multiplier."""
    alone = not _together(penalty) or np.count_nonzero(held) <= 1
    return bool(alone) and not penalty.add_quadratic and penalty.shift is None


def _promised(penalty: Penalty, tolerance: ArrayLike | None) -> Array:
    if tolerance is not None:
        return _tolerances(penalty, "Penalty.report", tolerance)
    m = len(penalty.rows)
    if not penalty.kernel.has_width or not penalty.kernel.saturates:
        return np.full(m, np.nan)
    strongest, sigma = np.full(m, FACTOR), np.full(m, FACTOR + 1.0 / FACTOR)
    unit = _error(penalty, strongest, sigma, np.ones(m))
    return penalty.alpha * np.maximum(unit, 1.0)


def _error(penalty: Penalty, gradient: Array, sigma: Array, alpha: Array) -> Array:
    """The predicted error of all rows (m,)."""
    if not len(penalty.rows):
        return np.zeros(0)
    one_sided, both = (predicted_error(gradient, sigma, alpha, op, penalty.kernel) for op in ("<", "="))
    error: Array = np.where(penalty.rows.equality, both, one_sided)
    return error


def _tolerances(penalty: Penalty, call: str, tolerance: ArrayLike) -> Array:
    m, wanted = len(penalty.rows), numbers(call, "tolerance", tolerance)
    if not (wanted > 0.0).all() or wanted.shape not in ((), (m,)):
        raise ValueError(
            f"`{call}(tolerance=...)` must be positive, one number or one for each of the {m} rows; "
            f"got {tolerance!r}."
        )
    return np.broadcast_to(wanted, (m,))
