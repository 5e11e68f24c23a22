"""Steps that satisfy the strong Wolfe conditions, as SciPy's BFGS finds them.

First the search of Moré and Thuente (ACM Trans. Math. Software 20, 1994), then bracketing and zoom of
Nocedal and Wright (Numerical Optimization, 1999, algorithms 3.5 and 3.6). Every decision is taken as SciPy
takes it; both leave the gradient of the step they return in `work.gradient`.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import math

from . import exact
from .penalized import dot, gradient, value

# Constants of SciPy's BFGS and of its two searches.
DECREASE, CURVATURE = 1e-4, 0.9  # c₁, c₂ of the Wolfe conditions
SMALLEST_STEP, LARGEST_STEP = 1e-100, 1e100
STEP_TOLERANCE = 1e-14  # relative width of the interval at which Moré–Thuente gives up
MORE_THUENTE_EVALUATIONS = 100
BRACKET_STEPS, ZOOM_STEPS = 10, 11
SHRINK = 0.66  # the interval must shrink by this in two steps, else it is halved
NEAREST_EXTRAPOLATION, FARTHEST_EXTRAPOLATION = 1.1, 4.0
CUBIC_MARGIN, QUADRATIC_MARGIN = 0.2, 0.1  # of the interval: a minimum nearer to an end is not trusted


@exact
def first_step(value0, value_before, slope0):
    """Step that repeats the last decrease, at most 1."""
    if slope0 == 0.0:
        return 1.0
    step = 2.02 * (value0 - value_before) / slope0
    return step if 0.0 <= step < 1.0 else 1.0


@exact
def _value_at(data, work, x, direction, step):
    for i in range(x.size):
        work.trial[i] = x[i] + step * direction[i]
    return value(data, work)


@exact
def _slope_here(data, work, direction):
    gradient(data, work)
    return dot(work.gradient, direction)


@exact
def _clip(number, low, high):
    """Within [low, high]; what is not a number stays so."""
    if number < low:
        return low
    return high if number > high else number


@exact
def _cubic(a, value_a, slope_a, b, value_b, slope_b, floor):
    """θ and γ of the cubic through two points with slopes; `floor` cuts a negative discriminant."""
    theta = 3.0 * (value_a - value_b) / (b - a) + slope_a + slope_b
    scale = max(abs(theta), abs(slope_a), abs(slope_b))
    ratio = theta / scale
    discriminant = ratio * ratio - (slope_a / scale) * (slope_b / scale)
    if floor and not discriminant > 0.0:
        discriminant = 0.0
    return theta, scale * math.sqrt(discriminant)


@exact
def _safeguarded_step(best, f, d, other, f_other, d_other, trial, f_trial, d_trial, bracketed, low, high):
    """Update the interval (best, other) with a trial, and choose the next one (Moré–Thuente, section 4)."""
    opposite = (d_trial > 0.0 and d < 0.0) or (d_trial < 0.0 and d > 0.0)
    higher = f_trial > f
    if higher:
        theta, gamma = _cubic(best, f, d, trial, f_trial, d_trial, False)
        if trial < best:
            gamma = -gamma
        ratio = ((gamma - d) + theta) / (((gamma - d) + gamma) + d_trial)
        cubic = best + ratio * (trial - best)
        quadratic = best + ((d / ((f - f_trial) / (trial - best) + d)) / 2.0) * (trial - best)
        closer = abs(cubic - best) <= abs(quadratic - best)
        chosen = cubic if closer else cubic + (quadratic - cubic) / 2.0
        bracketed = True
    elif opposite:
        theta, gamma = _cubic(best, f, d, trial, f_trial, d_trial, False)
        if trial > best:
            gamma = -gamma
        ratio = ((gamma - d_trial) + theta) / (((gamma - d_trial) + gamma) + d)
        cubic = trial + ratio * (best - trial)
        secant = trial + (d_trial / (d_trial - d)) * (best - trial)
        chosen = cubic if abs(cubic - trial) > abs(secant - trial) else secant
        bracketed = True
    elif abs(d_trial) < abs(d):
        theta, gamma = _cubic(best, f, d, trial, f_trial, d_trial, True)
        if trial > best:
            gamma = -gamma
        ratio = ((gamma - d_trial) + theta) / ((gamma + (d - d_trial)) + gamma)
        if ratio < 0.0 and gamma != 0.0:
            cubic = trial + ratio * (best - trial)
        else:
            cubic = high if trial > best else low
        secant = trial + (d_trial / (d_trial - d)) * (best - trial)
        cubic_closer = abs(cubic - trial) < abs(secant - trial)
        if bracketed:
            chosen = cubic if cubic_closer else secant
            limit = trial + SHRINK * (other - trial)
            chosen = min(limit, chosen) if trial > best else max(limit, chosen)
        else:
            chosen = cubic if abs(cubic - trial) > abs(secant - trial) else secant
            chosen = _clip(chosen, low, high)
    elif bracketed:
        theta, gamma = _cubic(trial, f_trial, d_trial, other, f_other, d_other, False)
        if trial > other:
            gamma = -gamma
        ratio = ((gamma - d_trial) + theta) / (((gamma - d_trial) + gamma) + d_other)
        chosen = trial + ratio * (other - trial)
    else:
        chosen = high if trial > best else low
    if higher:
        other, f_other, d_other = trial, f_trial, d_trial
    else:
        if opposite:
            other, f_other, d_other = best, f, d
        best, f, d = trial, f_trial, d_trial
    return best, f, d, other, f_other, d_other, chosen, bracketed


@exact
def more_thuente(data, work, x, direction, value0, slope0, step):
    """Search from `step`; returns (found, step, value)."""
    if step < SMALLEST_STEP or slope0 >= 0.0:
        return False, step, value0
    wanted = DECREASE * slope0
    bracketed, first_stage = False, True
    best = other = 0.0
    f = f_other = value0
    d = d_other = slope0
    width = LARGEST_STEP - SMALLEST_STEP
    width_before = 2.0 * width
    low, high = 0.0, step + FARTHEST_EXTRAPOLATION * step
    for _ in range(MORE_THUENTE_EVALUATIONS - 1):
        f_trial = _value_at(data, work, x, direction, step)
        d_trial = _slope_here(data, work, direction)
        enough = value0 + step * wanted
        if first_stage and f_trial <= enough and d_trial >= 0.0:
            first_stage = False
        if f_trial <= enough and abs(d_trial) <= CURVATURE * -slope0:
            return True, step, f_trial
        stuck = bracketed and (step <= low or step >= high or high - low <= STEP_TOLERANCE * high)
        at_largest = step == LARGEST_STEP and f_trial <= enough and d_trial <= wanted
        at_smallest = step == SMALLEST_STEP and (f_trial > enough or d_trial >= wanted)
        if stuck or at_largest or at_smallest:
            return False, step, f_trial
        if first_stage and f_trial <= f and f_trial > enough:
            # The function less its wanted decrease has the minimum that is sought in the first stage.
            best, f, d, other, f_other, d_other, step, bracketed = _safeguarded_step(
                best, f - best * wanted, d - wanted, other, f_other - other * wanted, d_other - wanted,
                step, f_trial - step * wanted, d_trial - wanted, bracketed, low, high,
            )  # fmt: skip
            f, f_other = f + best * wanted, f_other + other * wanted
            d, d_other = d + wanted, d_other + wanted
        else:
            best, f, d, other, f_other, d_other, step, bracketed = _safeguarded_step(
                best, f, d, other, f_other, d_other, step, f_trial, d_trial, bracketed, low, high
            )
        if bracketed:
            if abs(other - best) >= SHRINK * width_before:
                step = best + 0.5 * (other - best)
            width_before, width = width, abs(other - best)
            low, high = min(best, other), max(best, other)
        else:
            low = step + NEAREST_EXTRAPOLATION * (step - best)
            high = step + FARTHEST_EXTRAPOLATION * (step - best)
        step = _clip(step, SMALLEST_STEP, LARGEST_STEP)
        if bracketed and (step <= low or step >= high or high - low <= STEP_TOLERANCE * high):
            step = best
        if not math.isfinite(step):
            return False, step, f_trial
    return False, step, value0


@exact
def _cubic_minimum(a, f_a, d_a, b, f_b, c, f_c):
    """Minimum of the cubic through three points with the slope at the first; may not be finite."""
    to_b, to_c = b - a, c - a
    rise_b, rise_c = f_b - f_a - d_a * to_b, f_c - f_a - d_a * to_c
    determinant = (to_b * to_c) ** 2 * (to_b - to_c)
    third = (to_c**2 * rise_b - to_b**2 * rise_c) / determinant
    second = (-(to_c**3) * rise_b + to_b**3 * rise_c) / determinant
    return a + (-second + math.sqrt(second * second - 3.0 * third * d_a)) / (3.0 * third)


@exact
def _quadratic_minimum(a, f_a, d_a, b, f_b):
    """Minimum of the parabola through two points with the slope at the first; may not be finite."""
    width = b - a
    return a - d_a / (2.0 * ((f_b - f_a - d_a * width) / (width * width)))


@exact
def _trusted(step, low, high, margin):
    return math.isfinite(step) and not (step > high - margin or step < low + margin)


@exact
def _zoom(data, work, x, direction, value0, slope0, near, f_near, d_near, far, f_far):
    """Narrow the interval between `near` (the lower value) and `far`; returns (found, step, value)."""
    recent, f_recent = 0.0, value0
    for count in range(ZOOM_STEPS):
        width = far - near
        low, high = min(near, far), max(near, far)
        step = math.nan
        if count > 0:
            step = _cubic_minimum(near, f_near, d_near, far, f_far, recent, f_recent)
        if not _trusted(step, low, high, CUBIC_MARGIN * width):
            step = _quadratic_minimum(near, f_near, d_near, far, f_far)
            if not _trusted(step, low, high, QUADRATIC_MARGIN * width):
                step = near + 0.5 * width
        f = _value_at(data, work, x, direction, step)
        if f > value0 + DECREASE * step * slope0 or f >= f_near:
            recent, f_recent = far, f_far
            far, f_far = step, f
            continue
        d = _slope_here(data, work, direction)
        if abs(d) <= -CURVATURE * slope0:
            return True, step, f
        if d * (far - near) >= 0.0:
            recent, f_recent = far, f_far
            far, f_far = near, f_near
        else:
            recent, f_recent = near, f_near
        near, f_near, d_near = step, f, d
    return False, 0.0, value0


@exact
def nocedal_wright(data, work, x, direction, value0, slope0, step):
    """Search from `step` by doubling, then zoom; returns (found, step, value)."""
    before, f_before, d_before = 0.0, value0, slope0
    f = _value_at(data, work, x, direction, step)
    for count in range(BRACKET_STEPS):
        if step == 0.0:
            return False, step, value0
        if f > value0 + DECREASE * step * slope0 or (f >= f_before and count > 0):
            return _zoom(data, work, x, direction, value0, slope0, before, f_before, d_before, step, f)
        d = _slope_here(data, work, direction)
        if abs(d) <= -CURVATURE * slope0:
            return True, step, f
        if d >= 0.0:
            return _zoom(data, work, x, direction, value0, slope0, step, f, d, before, f_before)
        before, f_before, d_before = step, f, d
        step = 2.0 * step
        f = _value_at(data, work, x, direction, step)
    # SciPy takes the last step, although it is too short.
    gradient(data, work)
    return True, step, f
