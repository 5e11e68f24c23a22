"""What a search returns: the best `Result`, the other minima, and what is known of those not found."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from ..solve.result import Result
from .plan import Plan

__all__ = ["SearchResult", "Stop", "build"]

MOST_LINES = 10  # minima listed in a report


class Stop(Enum):
    """Why a search ended, and what to know or to try next."""

    COMPLETE = "Less than half a level is expected to be missing."
    EVALUATIONS = "The evaluations allowed by `maxfev` are spent."
    TIME = "The time allowed by `max_time` is over."
    SOLVES = "The solves allowed by `max_solves` are made."
    CALLBACK = "Stopped by the callback."
    INTERRUPTED = "Interrupted."


class SearchResult(Result):
    """The result of `search`: the best `Result` of `minimize`, and what else was found.

    Attributes
    ----------
    success
        whether the best minimum passed `minimize`'s own test; it does not say that it is global
    minima
        list of `Minimum`, best first: ``x``, ``fun``, ``count`` (how often it was found), ``nfev``
        (when), ``success`` and the whole ``result``
    solves, aborted, infeasible
        starts solved, how many were stopped on their way into a known minimum, and
        how many ended without a feasible point
    samples
        points evaluated to choose starts among
    estimate
        `Estimate`: levels ``found`` and ``expected``, and the share of the box ``covered``
    stop
        `Stop`, why the search ended; None while it goes on
    nfev, njev, nhev, failures, failure_messages
        of the whole search
    others
        as in `Result`, of the solve that found the best minimum

    Examples
    --------
    >>> from softpenalty import search
    >>> result = search(lambda x: (x[0] ** 2 - 1.0) ** 2 + 0.1 * x[0], [(-2.0, 2.0)], rng=0)
    >>> [round(float(minimum.x[0]), 3) for minimum in result.minima]
    [-1.012, 0.987]
    >>> result.estimate.found, result.stop.name
    (2, 'COMPLETE')
    """

    def summary(self) -> str:
        """One line on how far the search is."""
        estimate = self.estimate
        return (
            f"{self.solves} solves, {self.nfev} evaluations: best {self.fun:.8g}"
            f"{'' if self.minima else f' (violated by {self.maxcv:.2g})'}, {len(self.minima)} minima at "
            f"{estimate.found} of about {estimate.expected:.3g} levels"
        )

    def report(self) -> str:
        """Explain in words what was found, what may be missing, and the best minimum."""
        lines = [
            f"{self.solves} solves ({self.aborted} stopped on their way into a known minimum, "
            f"{self.infeasible} without a feasible end), {self.samples} samples, {self.nfev} evaluations.",
            *([self.stop.value] if self.stop else []),
            "",
            *self._list(),
            "",
            *self._known(),
            "",
            "The best of them:" if self.minima else "The least violated point:",
            self.minima[0].result.report() if self.minima else super().report(),
        ]
        return "\n".join(lines)

    def _list(self) -> list[str]:
        if not self.minima:
            return ["No feasible point was found; that none exists is not known."]
        lines = [f"{len(self.minima)} distinct minima, best first:"]
        for minimum in self.minima[:MOST_LINES]:
            x = np.array2string(minimum.x, precision=4, threshold=8, edgeitems=3)
            doubt = "" if minimum.success else "; did not pass the test of `minimize`"
            lines.append(
                f"  {minimum.fun:<14.8g} found {minimum.count}×, first after {minimum.nfev} evaluations, at "
                f"{x}{doubt}"
            )
        more = len(self.minima) - MOST_LINES
        return [*lines, f"  ... and {more} more"] if more > 0 else lines

    def _known(self) -> list[str]:
        estimate = self.estimate
        if np.isinf(estimate.expected):
            return [
                f"{estimate.starts} uniform starts are too few to say how much is missing beside the "
                f"{estimate.found} level(s) found."
            ]
        return [
            f"Of about {estimate.expected:.3g} levels of the objective expected, {estimate.found} are found; "
            f"they attract about {100 * estimate.covered:.0f} % of the box. That is an estimate from "
            f"{estimate.starts} uniform starts: a minimum with a small basin may be missing, and nothing "
            "here proves that the best one is global."
        ]

    def plot(self, axes: Any = None) -> Any:
        """Draw minima against evaluations, their values, and where they lie (needs matplotlib).

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        array of three Axes
        """
        from .plot import draw

        return draw(self.minima, self.nfev, axes)


def build(plan: Plan, stop: Stop | None) -> SearchResult:
    """The result of what the plan knows."""
    minima = plan.minima.best_first()
    best = minima[0].result if minima else plan.least_violated
    assert best is not None  # there is at least one finished start
    return SearchResult(
        **{
            **best,
            "nfev": plan.nfev,
            "njev": plan.njev,
            "nhev": plan.nhev,
            "failures": plan.failures,
            "failure_messages": plan.failure_messages,
            "minima": minima,
            "solves": plan.solves,
            "aborted": plan.aborted,
            "infeasible": plan.infeasible,
            "samples": plan.screen_nfev,
            "estimate": plan.estimate,
            "stop": stop,
        }
    )
