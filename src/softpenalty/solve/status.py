"""Why a solve stopped, with what to know or to try next, and what the point it returned is."""

from __future__ import annotations

from enum import Enum

__all__ = ["SUCCESSES", "Status", "Verdict"]


class Status(Enum):
    """Reason of the stop: a number for `result.status` and what to know or to try next."""

    CONVERGED = (0, "Converged: stationary and feasible within tolerance.")
    ITERATION_LIMIT = (
        1,
        "Iteration limit reached: continue from `result.x` or raise options['maxiter'].",
    )
    EVALUATION_LIMIT = (
        2,
        "Evaluation limit reached: continue from `result.x` or raise options['maxfev'].",
    )
    INFEASIBLE = (
        3,
        "Infeasible: no nearby point violates the constraints less. Relax one of those that conflict "
        "(see `result.conflict`) or start elsewhere.",
    )
    UNBOUNDED = (
        4,
        "Unbounded: the objective falls without limit at feasible points. Add the bound or constraint that "
        "is missing.",
    )
    NO_PROGRESS = (
        5,
        "Line search failed: no step improves the point any further, yet it is not stationary within "
        "tolerance. Check the derivatives, look for kinks or noise, or accept a larger `tol`.",
    )
    CALLBACK = (6, "Stopped by the callback.")
    INVALID_START = (
        7,
        "Invalid start: the functions or their derivatives are not finite at `x0` nor near it. Start where "
        "they are defined, or add bounds that keep x there.",
    )
    ATTAINED = (
        10,
        "Converged to the attainable accuracy: stationary as far as rounding in the functions shows.",
    )
    TIME_LIMIT = (8, "Time limit reached: continue from `result.x` or raise options['max_time'].")
    ERROR_LEFT = (
        9,
        "The minimum of the penalty was found, but it leaves an error beyond tolerance, as penalties do. "
        "Use method='multiplier' or 'sqp', lower options['alpha'], or say in options['constraint_tol'] which "
        "error you accept.",
    )
    WEAK_PENALTY = (
        11,
        "The penalty is too weak: a constraint is violated although its multiplier has reached sigma. Raise "
        "options['sigma'], or leave it out and it is found.",
    )

    NOISE_FLOOR = (
        13,
        "Noise floor: nothing beyond the noise of the functions is left to gain, and the constraints hold "
        "within theirs.",
    )
    NOISY = (
        14,
        "Noisy functions: differences show nothing but noise. Say `noise=...`, which takes up to 30 "
        "variables, or give derivatives.",
    )
    INTERRUPTED = (
        12,
        "Interrupted from the keyboard: this is the best point so far. Continue from `result.x`, or with "
        "`resume=True` where a checkpoint was kept.",
    )

    def __init__(self, number: int, message: str) -> None:
        self.number = number  #: what `result.status` holds
        self.message = message  #: what `result.message` starts with


SUCCESSES = (Status.CONVERGED, Status.ATTAINED, Status.NOISE_FLOOR)


class Verdict(Enum):
    """What a point is, whatever the reason of the stop; `result.verdict` holds the text."""

    OPTIMAL = "optimal"  # feasible and stationary within tolerance
    ATTAINED = "optimal to the attainable accuracy"  # ... as far as rounding in the functions shows
    NOISE = "optimal within the noise"  # no improvement beyond the noise is left, rows hold within theirs
    FEASIBLE = "feasible"
    VIOLATED = "violated"
    UNDEFINED = "undefined"  # a function is not finite there
