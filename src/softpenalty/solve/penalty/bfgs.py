"""BFGS within hard bounds, one step at a time.

The caller decides when to stop, and may change the function between two steps: the matrix is kept. A step
never leaves the bounds, grows by a limited factor only and turns back from points where the function is not
defined; where no step improves the point, `step` says so.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from ...types import Array, Mask
from ..norms import all_finite, largest

__all__ = ["Bfgs", "Smooth"]

ARMIJO, CURVATURE = 1e-4, 0.9  # c₁, c₂ of the Wolfe conditions
ROUNDING = 1e-14  # relative to the value: where changes are below it, the gradient alone decides
TRIALS = 25  # points of one line search
SHRINK = (0.1, 0.5)  # limits of one reduction by interpolation
RETREAT = 0.25  # reduction after an undefined point
GROW = (2.0, 10.0)  # limits of one extension by extrapolation
REACH = 0.1  # length of the first step and of any step that is allowed, relative to max(1, |x|)
LONGER = 10.0  # a step may be so many times the longest of the last three
RECENT = 3
NEAR = 1e-10  # so near to a bound, relative to max(1, |x|), a variable that is drawn to it is put there
DAMPED = 0.1  # curvature learnt from a step, in units of the one expected, at least
LEAST_CURVATURE = 1e-12  # least s·y relative to |s||y| that is more than rounding
IDLE = 5  # steps in a row that lower neither the value nor the gradient


class Smooth(Protocol):
    """A function of x (n,) with its gradient (n,); not finite where it is not defined."""

    def __call__(self, x: Array) -> float: ...
    def gradient(self, x: Array) -> Array: ...


class Bfgs:
    """Where a minimization stands.

    Attributes
    ----------
    x, value, gradient : the current point, which is inside the bounds, and the function there
    inverse : (n, n) approximate inverse of the Hessian, None until the first step is made
    length : largest change of a variable in the last step
    trials : points that it has looked at
    """

    def __init__(self, function: Smooth, x: Array, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        self.inverse: Array | None = None
        self.trials = 0
        self._lengths: list[float] = []
        self.start(function, x)

    def start(self, function: Smooth, x: Array) -> None:
        """Go on with another function or from another point; the matrix stays."""
        self.function, self.x = function, x
        self.value, self.gradient = function(x), function.gradient(x)
        self._idle, self._flattest = 0, largest(self.projected())

    def forget(self) -> None:
        """Start the matrix and the step lengths anew."""
        self.inverse = None
        self._lengths.clear()

    @property
    def length(self) -> float:
        return self._lengths[-1] if self._lengths else 0.0

    def projected(self) -> Array:
        """The gradient (n,) less what presses against the bounds: 0 at a minimum."""
        return self._projected(self.x, self.gradient)

    def _projected(self, x: Array, gradient: Array) -> Array:
        projected: Array = np.where(self._held(0.0, x, gradient), 0.0, gradient)
        return projected

    def step(self, careful: bool = False) -> bool:
        """Move to a lower point; False where none is found.

        ``careful`` : where rounding hides the change of the value, no step may make the gradient larger
        """
        for _ in range(2):
            d = self._direction()
            if all_finite(d) and float(self.gradient @ d) < 0.0 and self._search(d, careful):
                return self._idle < IDLE
            if self.inverse is None:
                break
            self.forget()
        return False

    def _held(self, near: float, x: Array, gradient: Array) -> Mask:
        """Which variables are at a bound, or `near` it, that the function draws them to."""
        margin = near * np.maximum(1.0, np.abs(x))
        low = (x - self.lower <= margin) & (gradient > 0.0)
        high = (self.upper - x <= margin) & (gradient < 0.0)
        held: Mask = low | high | (self.lower == self.upper)
        return held

    def _direction(self) -> Array:
        """The quasi-Newton step of the variables that are not held; those go to their bound."""
        held = self._held(NEAR, self.x, self.gradient)
        g = np.where(held, 0.0, self.gradient)
        if self.inverse is None:
            d = -g * (REACH * max(1.0, largest(self.x)) / (float(np.linalg.norm(g)) or 1.0))
        else:
            d = -(self.inverse @ g)
            if held.any():  # the others minimize the model with these fixed
                part = self.inverse[:, held]
                d -= part @ np.linalg.lstsq(part[held], d[held], rcond=None)[0]
        bound = np.where(self.gradient > 0.0, self.lower, self.upper)
        d[held] = np.where(np.isfinite(bound), bound - self.x, 0.0)[held]
        return d

    def _search(self, d: Array, careful: bool) -> bool:
        """Find a step along `d`, bent at the bounds, that satisfies the weak Wolfe conditions; take it."""
        x, g, value, slope = self.x, self.gradient, self.value, float(self.gradient @ d)
        reach = REACH * max(1.0, largest(x))
        longest = max(reach, LONGER * max(self._lengths, default=0.0)) / largest(d)
        low, high, t = 0.0, math.inf, min(1.0, longest)
        slack, steep = ROUNDING * abs(value), largest(self.projected())
        found: tuple[Array, float, Array, float] | None = None
        for self.trials in range(1, TRIALS + 1):
            straight = x + t * d
            new = np.clip(straight, self.lower, self.upper)
            expected = float(g @ (new - x))
            if new.tobytes() == x.tobytes():
                break
            trial = self.function(new)
            enough = trial <= value + ARMIJO * expected and (-expected > slack or not careful)
            undefined = not math.isfinite(trial)
            if enough or trial <= value + slack:
                gradient = self.function.gradient(new)
                undefined = not all_finite(gradient)
                on_line = new == straight
                ahead = float(gradient[on_line] @ d[on_line])
                calm = largest(self._projected(new, gradient)) < steep if careful else abs(ahead) <= -slope
                if not undefined and (enough or calm):
                    found = new, trial, gradient, t
                    if ahead >= CURVATURE * slope or t >= longest or not on_line.all():
                        break
                    low = t
                    guess = t * slope / (slope - ahead) if ahead > slope else math.inf
                    grown = min(max(guess, GROW[0] * t), GROW[1] * t, longest)
                    t = 0.5 * (low + high) if math.isfinite(high) else grown
                    continue
            high = t
            if undefined:
                t = low + RETREAT * (t - low)
            elif found is not None:
                t = 0.5 * (low + high)
            else:
                excess = trial - value - expected
                parabola = -0.5 * expected / excess * t if excess > 0.0 else 0.0
                t = min(max(parabola, SHRINK[0] * t), SHRINK[1] * t)
        if found is None:
            return False
        self._take(*found)
        flat = largest(self.projected())
        self._idle = self._idle + 1 if self.value >= value - slack and flat >= self._flattest else 0
        self._flattest = min(flat, self._flattest)
        return True

    def _take(self, x: Array, value: float, gradient: Array, t: float) -> None:
        """Move to the point at step `t` and learn from the change of the gradient."""
        s, y = x - self.x, gradient - self.gradient
        product = float(s @ y)
        # The matrix times the step is −t·gradient, where no bound is in the way. A curvature that is smaller
        # than a share of that, or negative, is replaced by the share, so that the next step can be longer.
        model = -t * float(self.gradient @ s)
        if self.inverse is not None and product < DAMPED * model:
            share = (DAMPED * model - product) / (model - product)
            y = np.where(s != 0.0, (1.0 - share) * y - share * t * self.gradient, y)
            product = float(s @ y)
        self.x, self.value, self.gradient = x, value, gradient
        self._lengths = [*self._lengths[-RECENT + 1 :], largest(s)]
        if not product > LEAST_CURVATURE * float(np.linalg.norm(s)) * float(np.linalg.norm(y)):
            return
        if self.inverse is None:
            self.inverse = np.eye(x.size) * (product / float(y @ y))
        image = self.inverse @ y
        s = s / product
        half = np.outer(0.5 * (product + float(y @ image)) * s - image, s)
        self.inverse += half + half.T
        if not all_finite(self.inverse):
            self.inverse = None
