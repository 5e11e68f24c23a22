"""How the terms of several constraints become one penalty: their sum (Eq. 4) or their norm (Eq. 8).

A term is sigma·g(error) of one constraint. Arrays run over the constraints along their first axis; a second
axis, where there is one, holds independent points.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Final

from .arrays import Array, namespace

__all__ = ["COMBINATIONS", "Combination", "Norm", "Sum", "find_combination"]


class Combination(ABC):
    """A way to combine terms, with the multipliers it gives each constraint.

    Examples
    --------
    >>> import numpy as np
    >>> multipliers = np.array([3.0, 4.0])
    >>> float(COMBINATIONS["sum"].strength(multipliers)), float(COMBINATIONS["norm"].strength(multipliers))
    (4.0, 5.0)
    """

    name: str  #: the key in `COMBINATIONS`

    @abstractmethod
    def value(self, terms: Array) -> Array:
        """Return the penalty of `terms` (m,) or (m, S), each ≥ 0."""

    @abstractmethod
    def multipliers(self, terms: Array, term_slopes: Array) -> Array:
        """Return ∂penalty/∂error of every constraint from the terms and their own slopes (m,) or (m, S)."""

    @abstractmethod
    def balance(self, multipliers: Array, alpha: Array = 1.0) -> Array:
        """Return the sigma (m,) for which these multipliers of inequalities leave zero error.

        This is the paper's sigma = 2·gradient for any number of constraints. `alpha` matters to the norm
        only, and only where it differs between constraints. An equality has slope 0 at its target whatever
        its sigma: keep sigma there and shift both saturations by the multiplier instead.
        """

    @abstractmethod
    def strength(self, multipliers: Array) -> Array:
        """Return what sigma, if it is the same for all, must exceed for the penalty to hold."""

    def __repr__(self) -> str:
        return f"COMBINATIONS[{self.name!r}]"


class Sum(Combination):
    """penalty = Σ terms (Eq. 4): every constraint acts by itself.

    Examples
    --------
    >>> import numpy as np
    >>> COMBINATIONS["sum"].balance(np.array([0.5, -2.0]))
    array([1., 4.])
    """

    name = "sum"

    def value(self, terms: Array) -> Array:
        return namespace(terms).sum(terms, axis=0)

    def multipliers(self, terms: Array, term_slopes: Array) -> Array:
        return term_slopes

    def balance(self, multipliers: Array, alpha: Array = 1.0) -> Array:
        return 2.0 * abs(multipliers)

    def strength(self, multipliers: Array) -> Array:
        return namespace(multipliers).max(abs(multipliers), axis=0)


class Norm(Combination):
    """penalty = √Σ terms² (Eq. 8): a rounder corner where constraints meet.

    The terms are divided by their largest before they are squared. Where every term is 0 (softplus deep
    inside underflows to that) so are the multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> norm = COMBINATIONS["norm"]
    >>> norm.value(np.array([3.0, 4.0]))
    np.float64(5.0)
    >>> norm.multipliers(np.zeros(2), np.zeros(2))
    array([0., 0.])
    """

    name = "norm"

    def value(self, terms: Array) -> Array:
        xp = namespace(terms)
        largest, ratios = _by_largest(terms)
        squares = xp.sum(ratios * ratios, axis=0)  # 0, or at least 1
        return largest * xp.sqrt(squares + (squares == 0.0))  # √1 at 0: its derivative is finite

    def multipliers(self, terms: Array, term_slopes: Array) -> Array:
        xp = namespace(terms)
        _, ratios = _by_largest(terms)
        squares = xp.sum(ratios * ratios, axis=0)
        return ratios / xp.sqrt(squares + (squares == 0.0)) * term_slopes

    def balance(self, multipliers: Array, alpha: Array = 1.0) -> Array:
        xp = namespace(multipliers)
        size = abs(multipliers)
        return 2.0 * xp.sqrt(size) * xp.sqrt(xp.sum(size * alpha, axis=0) / alpha)

    def strength(self, multipliers: Array) -> Array:
        return self.value(abs(multipliers))


def _by_largest(terms: Array) -> tuple[Array, Array]:
    """Return the largest term and every term divided by it (by 1 where it is 0 or infinite)."""
    xp = namespace(terms)
    if terms.shape[0] == 0:
        return xp.sum(terms, axis=0), terms
    largest = xp.max(terms, axis=0)
    return largest, terms / xp.where((largest > 0.0) & (largest < math.inf), largest, 1.0)


COMBINATIONS: Final[dict[str, Combination]] = {
    combination.name: combination for combination in (Sum(), Norm())
}


def find_combination(call: str, combination: str | Combination) -> Combination:
    """Return the combination called `combination`, or raise ValueError with the valid names."""
    if isinstance(combination, Combination):
        return combination
    if not isinstance(combination, str) or combination not in COMBINATIONS:
        names = ", ".join(map(repr, COMBINATIONS))
        raise ValueError(f"`{call}(combination=...)` must be one of {names}; got {combination!r}.")
    return COMBINATIONS[combination]
