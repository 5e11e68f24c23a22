"""The kernels: smooth (and two not so smooth) stand-ins for the positive part max(0, error).

A kernel g is the paper's g⁺, the penalty of the operator ``<`` with weight one. The other operators follow
from it (see `operators`). `KERNELS` maps each name to its kernel; registered means tested.

The smooth kernels depend on ``error / alpha`` only, up to their units: g(c·error, c·alpha) = c·g(error,
alpha). They are computed as ``max(error, 0) + corner(|error|)``, where the corner, between 0 and alpha, is
what the smoothing adds. Nothing cancels and nothing overflows in that form, so there is no range to mask.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Final

import numpy as np

from .arrays import Array, Formula, apply, check_positive, maximum, minimum

__all__ = ["KERNELS", "Algebraic", "Huber", "Kernel", "Linear", "Quadratic", "Softplus", "find_kernel"]

LN2 = math.log(2.0)
UNIT = 2.0**-30  # `Algebraic` measures in alpha/UNIT: 1 is far out, and squares overflow where it is all over


class Kernel(ABC):
    """A function g(error, alpha) ≥ 0 that grows with the error, with its slope and curvature.

    All methods take floats or arrays (NumPy, PyTorch, JAX) that broadcast, and return the same kind.

    Examples
    --------
    >>> softplus = KERNELS["softplus"]
    >>> softplus.value(0.0, 0.1), softplus.slope(0.0, 0.1), softplus.tilt(0.0, 0.1)
    (0.1, 0.5, 0.0)
    >>> softplus.inverse_slope(0.5, 0.1)                # where it has half its slope: at the target
    0.0
    >>> KERNELS["quadratic"].evaluate(3.0, 1.0)         # value, slope, curvature; alpha does not matter
    (9.0, 6.0, 2.0)
    """

    name: str  #: the key in `KERNELS`
    label: str  #: for tables and figures
    saturates: bool = True  #: the slope lies in [0, 1]; else it grows without limit
    has_width: bool = True  #: alpha matters

    def value(self, error: Array, alpha: Array) -> Array:
        """Return g(error)."""
        return self.apply("value", self.value_formula, error, alpha)

    def slope(self, error: Array, alpha: Array) -> Array:
        """Return g′(error)."""
        return self.apply("slope", self.slope_formula, error, alpha)

    def curvature(self, error: Array, alpha: Array) -> Array:
        """Return g″(error)."""
        return self.apply("curvature", self.curvature_formula, error, alpha)

    def evaluate(self, error: Array, alpha: Array) -> tuple[Array, Array, Array]:
        """Return (value, slope, curvature), with the work they share done once."""
        result: tuple[Array, Array, Array] = self.apply("evaluate", self.evaluate_formula, error, alpha)
        return result

    def tilt(self, error: Array, alpha: Array) -> Array:
        """Return g′(error) − g′(−error), the slope of the operator ``=``, exact also near error 0."""
        return self.apply("tilt", self.tilt_formula, error, alpha)

    def inverse_slope(self, fraction: Array, alpha: Array) -> Array:
        """Return the error at which the slope is `fraction`.

        Where a whole range of errors has that slope, the one nearest to zero is returned; where none has
        it, NaN.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.apply("inverse_slope", self.inverse_slope_formula, fraction, alpha)

    def inverse_tilt(self, fraction: Array, alpha: Array) -> Array:
        """Return the error ≥ 0 at which the tilt is `fraction` ≥ 0; NaN where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.apply("inverse_tilt", self.inverse_tilt_formula, fraction, alpha)

    def apply(self, call: str, formula: Formula, error: Array, alpha: Array) -> Any:
        """Check alpha in the name of `call`, then apply ``formula(xp, error, alpha)`` to any arrays."""
        if not self.has_width:
            alpha = 1.0
        elif not (type(alpha) is float and 0.0 < alpha < math.inf):
            check_positive(call, "alpha", alpha)
        return apply(formula, error, alpha)

    @abstractmethod
    def value_formula(self, xp: Any, error: Array, alpha: Array) -> Array: ...

    @abstractmethod
    def slope_formula(self, xp: Any, error: Array, alpha: Array) -> Array: ...

    @abstractmethod
    def evaluate_formula(self, xp: Any, error: Array, alpha: Array) -> tuple[Array, Array, Array]: ...

    @abstractmethod
    def inverse_slope_formula(self, xp: Any, fraction: Array, alpha: Array) -> Array: ...

    def inverse_tilt_formula(self, xp: Any, fraction: Array, alpha: Array) -> Array:
        return self.inverse_slope_formula(xp, fraction, alpha)  # right where the slope is 0 below the target

    def curvature_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        return self.evaluate_formula(xp, error, alpha)[2]

    def tilt_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        return self.slope_formula(xp, error, alpha) - self.slope_formula(xp, -error, alpha)

    def __repr__(self) -> str:
        return f"KERNELS[{self.name!r}]"


class Softplus(Kernel):
    """g = α·log₂(1 + 2^(error/α)), the integral of the logistic function (Table 1 and Eq. 6 of the paper).

    Domain: every real error, alpha > 0. At error 0 the value is alpha and the slope ½; both tails approach
    max(0, error) exponentially fast. g(x) − g(−x) = x. Rounder at the corner than `Algebraic` with the same
    alpha, and much closer to the positive part away from it. What 2^(−|error|/α) adds vanishes with it at the
    least float (|error| = 1074·α in float64, 149·α in float32).

    With e = 2^(−|error|/α) and q = e/(1+e): value max(error, 0) + (α/ln 2)·log1p(e), slope q below the
    target and 1 − q above, curvature (ln 2/α)·q/(1 + e).
    """

    name = "softplus"
    label = "Softplus"

    def value_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        decay = xp.exp2(_size(xp, error) / -alpha)
        return maximum(xp, error, 0.0) + xp.log1p(decay) * (alpha / LN2)

    def slope_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        decay = xp.exp2(_size(xp, error) / -alpha)
        return _rising(xp, error, decay / (1.0 + decay))

    def evaluate_formula(self, xp: Any, error: Array, alpha: Array) -> tuple[Array, Array, Array]:
        decay = xp.exp2(_size(xp, error) / -alpha)
        value = maximum(xp, error, 0.0) + xp.log1p(decay) * (alpha / LN2)
        whole = 1.0 + decay
        missing = decay / whole
        return value, _rising(xp, error, missing), missing / whole * (LN2 / alpha)

    def tilt_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        return xp.tanh(error / (alpha * (2.0 / LN2)))

    def inverse_slope_formula(self, xp: Any, fraction: Array, alpha: Array) -> Array:
        return alpha * xp.log2(fraction / (1.0 - fraction))

    def inverse_tilt_formula(self, xp: Any, fraction: Array, alpha: Array) -> Array:
        return alpha * xp.atanh(fraction) * (2.0 / LN2)


class Algebraic(Kernel):
    """g = (√(error² + 4α²) + error)/2, the integral of an algebraic sigmoid (Table 1 and Eq. 7).

    Domain: every real error, alpha > 0. At error 0 the value is alpha and the slope ½, as for `Softplus`;
    the tails approach max(0, error) only as α²/|error|. g(x) − g(−x) = x and g(x)·g(−x) = α². Needs no
    transcendental function. Alpha may lie between 2^±96 in float32, 2^±990 in float64.

    With w = |error|/2α and r = √(w² + 1): value max(error, 0) + α/(r + w), slope q below the target and
    1 − q above with q = 1/(2(r² + rw)), curvature 1/(4αr³).
    """

    name = "algebraic"
    label = "Algebraic"

    def value_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        reach, _, root = self._triangle(xp, error, alpha)
        return maximum(xp, error, 0.0) + (UNIT * alpha) / (root + reach)

    def slope_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        reach, square, root = self._triangle(xp, error, alpha)
        return _rising(xp, error, 0.5 * UNIT**2 / (square + root * reach))

    def evaluate_formula(self, xp: Any, error: Array, alpha: Array) -> tuple[Array, Array, Array]:
        reach, square, root = self._triangle(xp, error, alpha)
        value = maximum(xp, error, 0.0) + (UNIT * alpha) / (root + reach)
        slope = _rising(xp, error, 0.5 * UNIT**2 / (square + root * reach))
        return value, slope, (0.25 / alpha) * (UNIT / root) * (UNIT**2 / square)

    def tilt_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        ratio = xp.clip(error / (2.0 * alpha), -1.0 / UNIT, 1.0 / UNIT)  # beyond, the tilt is ±1
        return ratio / xp.sqrt(ratio * ratio + 1.0)

    def inverse_slope_formula(self, xp: Any, fraction: Array, alpha: Array) -> Array:
        return alpha * (2.0 * fraction - 1.0) / xp.sqrt(fraction * (1.0 - fraction))

    def inverse_tilt_formula(self, xp: Any, fraction: Array, alpha: Array) -> Array:
        return 2.0 * alpha * fraction / xp.sqrt((1.0 - fraction) * (1.0 + fraction))

    @staticmethod
    def _triangle(xp: Any, error: Array, alpha: Array) -> tuple[Array, Array, Array]:
        """Return w, r² and r, times UNIT or its square. Where r² overflows, r is w and q is 0."""
        reach = _size(xp, error) / (2.0 / UNIT * alpha)
        square = reach * reach + UNIT**2
        return reach, square, xp.maximum(xp.sqrt(minimum(xp, square, 1.0)), reach)


class Quadratic(Kernel):
    """g = max(0, error)², the Courant-Beltrami penalty (Eq. 3). Alpha is not used.

    Domain: every real error. Slope 0 at the target: some error always remains, gradient/(2·sigma). The
    slope grows without limit, so no gradient is too strong for it.
    """

    name = "quadratic"
    label = "Courant-Beltrami"
    saturates = False
    has_width = False

    def value_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        positive = maximum(xp, error, 0.0)
        return positive * positive

    def slope_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        return 2.0 * maximum(xp, error, 0.0)

    def evaluate_formula(self, xp: Any, error: Array, alpha: Array) -> tuple[Array, Array, Array]:
        positive = maximum(xp, error, 0.0)
        return positive * positive, 2.0 * positive, 1.0 + xp.sign(error)

    def inverse_slope_formula(self, xp: Any, fraction: Array, alpha: Array) -> Array:
        return xp.where(fraction >= 0, 0.5 * fraction, math.nan)


class Linear(Kernel):
    """g = max(0, error), the limit of `Softplus` and `Algebraic` as alpha goes to 0 (Eq. 2).

    Domain: every real error. At its kink the slope is taken as ½, the limit of theirs; every slope between
    0 and 1 occurs there only, so the inverse slope is 0. Alpha is not used.
    """

    name = "linear"
    label = "Linear"
    has_width = False

    def value_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        return maximum(xp, error, 0.0)

    def slope_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        return 0.5 + 0.5 * xp.sign(error)

    def evaluate_formula(self, xp: Any, error: Array, alpha: Array) -> tuple[Array, Array, Array]:
        sign = xp.sign(error)
        return maximum(xp, error, 0.0), 0.5 + 0.5 * sign, 0.0 * sign

    def inverse_slope_formula(self, xp: Any, fraction: Array, alpha: Array) -> Array:
        return xp.where((fraction >= 0) & (fraction <= 1), 0.0 * fraction, math.nan)


class Huber(Kernel):
    """The one-sided Huber function: error²/(2α) on [0, α], error − α/2 above, 0 below.

    Domain: every real error, alpha > 0 (the width of the quadratic part). Between `Quadratic` near the
    target, where its slope is 0 too, and `Linear` far above. ``value(error + alpha, 2 * alpha)`` is the
    variant centred on the target, with slope ½ there.
    """

    name = "huber"
    label = "Huber"

    def value_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        positive = maximum(xp, error, 0.0)
        bent = minimum(xp, positive, alpha)
        return bent / alpha * (positive - 0.5 * bent)

    def slope_formula(self, xp: Any, error: Array, alpha: Array) -> Array:
        return minimum(xp, maximum(xp, error, 0.0), alpha) / alpha

    def evaluate_formula(self, xp: Any, error: Array, alpha: Array) -> tuple[Array, Array, Array]:
        positive = maximum(xp, error, 0.0)
        bent = minimum(xp, positive, alpha)
        slope = bent / alpha
        bending = xp.sign(positive) - xp.sign(maximum(xp, error - alpha, 0.0))
        return slope * (positive - 0.5 * bent), slope, bending / alpha

    def inverse_slope_formula(self, xp: Any, fraction: Array, alpha: Array) -> Array:
        return xp.where((fraction >= 0) & (fraction <= 1), alpha * fraction, math.nan)


def _size(xp: Any, error: Array) -> Array:
    """Return |error| with derivative 0 at 0, so that automatic differentiation finds the slope ½ there."""
    return np.abs(error) if xp is np else xp.maximum(error, -error)


def _rising(xp: Any, error: Array, missing: Array) -> Array:
    """Return the slope q below the target and 1 − q above it (q = `missing` ≤ ½), without a mask."""
    return xp.maximum(xp.sign(error) - missing, missing)


KERNELS: Final[dict[str, Kernel]] = {
    kernel.name: kernel for kernel in (Softplus(), Algebraic(), Quadratic(), Linear(), Huber())
}


def find_kernel(call: str, kernel: str | Kernel) -> Kernel:
    """Return the kernel called `kernel`, or raise ValueError with the valid names."""
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ValueError(
            f"`{call}(kernel=...)` must be one of {', '.join(map(repr, KERNELS))}; got {kernel!r}."
        )
    return KERNELS[kernel]
