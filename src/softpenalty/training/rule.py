"""The rule by which a constraint's weight follows its error, written once for PyTorch and JAX.

Per constraint and step, with g′ the slope of softplus (a sigmoid of width alpha/ln 2) and tilt = 2·g′ − 1:

    mean      ← decay·mean + (1 − decay)·error         the first time: error
    weight    = sigma·g′(mean)                          ``<``; mirrored for ``>``
    log sigma += eta·tilt(mean)                         rule "bounded"
    log sigma += eta·log(2·g′(mean))                    rule "log"

and for equalities, whose sigma stays,

    weight    = shift + sigma·tilt(mean),    shift += eta·sigma·tilt(mean).

At rest the mean error is 0 and the weight is the multiplier, whatever alpha is. Only sigma and shift have the
units of the objective, and sigma moves by factors: this is why one setting serves objectives of any scale.

Noise: with batches of variance V the log rule rests at a mean error of V·(1 − decay)/(1 + decay)/(4·width),
width = alpha/ln 2, because log(2·g′) is bent; the bounded rule is bent only to third order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from ..formulas.arrays import Array, check_positive, maximum
from ..formulas.kernels import KERNELS, LN2
from ..formulas.operators import find_operator, violation
from ..formulas.penalty import penalty_and_multipliers

__all__ = ["RULES", "Look", "Memory", "Rule", "evaluate", "make_rule"]

RULES: Final = ("bounded", "log")
GAUGE: Final = 0.01  # weight of the newest step in the measured variance: an average over about 100 steps
SOFTPLUS = KERNELS["softplus"]


class Memory(NamedTuple):
    """What is remembered of n constraints; every field (n,)."""

    log_sigma: Array  #: logarithm of the weight's upper limit
    shift: Array  #: an equality's multiplier; 0 otherwise
    mean: Array  #: moving average of the error
    spread: Array  #: moving average of (error − mean before it)², see `Rule.variance`
    times: Array  #: how often the constraint was seen, a float too


class Look(NamedTuple):
    """What one more step's errors say; every field (n,). Flags that are all set may be a plain True."""

    change: Array  #: error − mean before it
    mean: Array  #: moving average with the error in it
    present: Array  #: whether the error is finite; where not, the constraint is absent
    known: Array  #: whether the constraint was seen before


@dataclass(frozen=True)
class Rule:
    """The settings, and the steps as pure functions of arrays (`xp` is `torch` or `jax.numpy`)."""

    operator: str
    rule: str
    eta: float
    decay: float
    log_min: float
    log_max: float
    auto: bool
    tolerance: float | None

    def step(self, xp: Any, errors: Array, alpha: Array, *fields: Array) -> tuple[Array, Memory]:
        """Return the weights with one more step's errors (n,), and the memory (now `fields`) after it."""
        memory = Memory(*fields)
        alpha = self.width(xp, memory, alpha)
        look = self.look(xp, memory, errors)
        tilt = self.tilt(xp, look.mean, alpha)
        return self.weight(xp, memory, tilt), self.ascend(xp, memory, look, tilt, alpha)

    def look(self, xp: Any, memory: Memory, errors: Array) -> Look:
        """Return what the errors (n,) of one more step do to the mean."""
        change = errors - memory.mean
        present = everywhere(xp, change - change == 0.0)  # in half the steps of PyTorch's own test
        known = everywhere(xp, memory.times != 0)
        mean = memory.mean + choose(xp, known, (1.0 - self.decay) * change, change)
        return Look(change, choose(xp, present, mean, memory.mean), present, known)

    def tilt(self, xp: Any, mean: Array, alpha: Array) -> Array:
        """Return 2·g′ − 1, between −1 (far inside) and 1 (far outside; for ``=`` above the target)."""
        return SOFTPLUS.tilt_formula(xp, -mean if self.operator == ">" else mean, alpha)

    def weight(self, xp: Any, memory: Memory, tilt: Array) -> Array:
        """Return the multipliers (n,), signed."""
        sigma = xp.exp(memory.log_sigma)
        if self.operator == "=":
            return memory.shift + sigma * tilt
        # sigma·g′. Far inside, g′ is rounded to a multiple of the last digit of 1: a weight needs no more.
        return (sigma * (tilt + 1.0)) * (-0.5 if self.operator == ">" else 0.5)

    def ascend(self, xp: Any, memory: Memory, look: Look, tilt: Array, alpha: Array) -> Memory:
        """Return the memory one step on, unchanged where a constraint was absent; `tilt` is of the mean."""
        log_sigma, shift = memory.log_sigma, memory.shift
        change, mean, present, known = look
        if self.operator == "=":
            limit = math.exp(self.log_max)
            moved = shift + (self.eta * xp.exp(log_sigma)) * tilt
            shift = choose(xp, present, clip(xp, moved, -limit, limit), shift)
        else:
            growth = tilt
            if self.rule == "log":  # log(2·g′) without the underflow of g′: g(−x) is −width·log g′(x)
                inside = mean if self.operator == ">" else -mean
                growth = LN2 - LN2 * SOFTPLUS.value_formula(xp, inside, alpha) / alpha
            moved = clip(xp, log_sigma + self.eta * growth, self.log_min, self.log_max)
            log_sigma = choose(xp, present, moved, log_sigma)
        spread = (1.0 - GAUGE) * memory.spread + GAUGE * change * change
        return Memory(
            log_sigma=log_sigma,
            shift=shift,
            mean=mean,
            spread=choose(xp, present & known, spread, memory.spread),
            times=memory.times + present,
        )

    def variance(self, xp: Any, memory: Memory) -> Array:
        """Return the variance of the errors from step to step, 0 before it is known."""
        changes = maximum(xp, memory.times, 1.0) - 1.0
        share = 1.0 - (1.0 - GAUGE) ** changes  # of all weights that the moving average has given so far
        # The mean before has (1 − decay)/(1 + decay) of an error's variance, and both are in the spread.
        return memory.spread * (0.5 * (1.0 + self.decay)) / xp.where(changes == 0.0, 1.0, share)

    def bias(self, xp: Any, memory: Memory, alpha: Array) -> Array:
        """Return the mean error at which noise leaves the constraint, to second order."""
        if self.rule == "bounded" or self.operator == "=":
            return 0.0 * memory.spread
        sign = -1.0 if self.operator == ">" else 1.0
        return sign * self._noise(xp, memory) * LN2 / (4.0 * alpha)

    def width(self, xp: Any, memory: Memory, alpha: Array) -> Array:
        """Return alpha; where it is "auto", the one for which the bias stays within the tolerance."""
        if not self.auto:
            return alpha
        assert self.tolerance is not None
        # Without noise any alpha would do: then the tolerance itself, in whose units alpha is.
        return maximum(xp, self._noise(xp, memory) * (LN2 / (4.0 * self.tolerance)), self.tolerance)

    def violation(self, memory: Memory) -> Array:
        """Return how far the mean error breaks the operator."""
        return violation(memory.mean, self.operator)

    def _noise(self, xp: Any, memory: Memory) -> Array:
        """Return the variance of the moving average."""
        return self.variance(xp, memory) * ((1.0 - self.decay) / (1.0 + self.decay))


def everywhere(xp: Any, flags: Array) -> Array:
    """Return True in place of flags that are all set, where that can be seen at once: in NumPy."""
    return True if xp is np and np.count_nonzero(flags) == flags.size else flags


def choose(xp: Any, flags: Array, new: Array, old: Array) -> Array:
    """Return `new` where the flags are set, `old` elsewhere."""
    return new if flags is True else xp.where(flags, new, old)


def clip(xp: Any, array: Array, low: float, high: float) -> Array:
    return np.minimum(np.maximum(array, low), high) if xp is np else xp.clip(array, low, high)


def evaluate(
    call: str, errors: Array, sigma: Any, alpha: Any, operator: str, kernel: Any, combination: Any
) -> tuple[Array, Array]:
    """Return the stateless penalty of errors (m,) or (m, S) that share an operator, and the multipliers."""
    found = find_operator(call, operator)
    sign = -1.0 if found == ">" else 1.0
    return penalty_and_multipliers(errors, sign, found == "=", sigma, alpha, None, kernel, combination)


def make_rule(
    call: str,
    n: int,
    operator: str,
    alpha: Any,
    sigma: Any,
    eta: float,
    decay: float,
    rule: str,
    sigma_min: float,
    sigma_max: float,
    tolerance: float | None,
) -> Rule:
    """Return the checked settings, or raise ValueError in the name of `call`."""
    auto = isinstance(alpha, str)
    if auto and alpha != "auto":
        raise ValueError(f'`{call}(alpha=...)` must be a positive number or "auto"; got {alpha!r}.')
    if auto and tolerance is None:
        raise ValueError(f'`{call}(alpha="auto")` needs `tolerance=...`, the error that may remain.')
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"`{call}(n)` must be the number of constraints, at least 1; got {n!r}.")
    positive = {"sigma": sigma, "eta": eta, "sigma_min": sigma_min, "sigma_max": sigma_max}
    if not auto:
        positive["alpha"] = alpha
    if tolerance is not None:
        positive["tolerance"] = tolerance
    for argument, number in positive.items():
        check_positive(call, argument, number)
    if not 0.0 <= decay < 1.0:
        raise ValueError(f"`{call}(decay=...)` must be at least 0 and below 1; got {decay!r}.")
    if rule not in RULES:
        raise ValueError(f"`{call}(rule=...)` must be one of {', '.join(map(repr, RULES))}; got {rule!r}.")
    if not sigma_min < sigma_max:
        raise ValueError(
            f"`{call}(sigma_min=..., sigma_max=...)` must be in that order; got {sigma_min!r}, {sigma_max!r}."
        )
    return Rule(
        operator=find_operator(call, operator),
        rule=rule,
        eta=float(eta),
        decay=float(decay),
        log_min=math.log(sigma_min),
        log_max=math.log(sigma_max),
        auto=auto,
        tolerance=tolerance,
    )
