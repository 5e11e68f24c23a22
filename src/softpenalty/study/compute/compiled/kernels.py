"""The kernels of `softpenalty.formulas.kernels` once more, as loops that use vector instructions.

Tests pin them to the formulas. Softplus brings its own 2⁻ᶻ and log₂: calls of the C library would keep the
loop scalar.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import math

from numba import types
from numba.extending import intrinsic

from . import exact, fast

KERNEL_NUMBERS = {"quadratic": 0, "algebraic": 1, "softplus": 2}
_QUADRATIC, _ALGEBRAIC = KERNEL_NUMBERS["quadratic"], KERNEL_NUMBERS["algebraic"]

# Minimax polynomials in relative error (Remez, 50 digits): 2ʳ on |r| ≤ ½ to 3e-18, and
# log₂((1+s)/(1−s))/s in s² on s² ≤ 0.0295 to 1e-18.
_E0, _E1, _E2, _E3 = 1.0, 0.6931471805599453, 0.24022650695910155, 0.055504108664819925
_E4, _E5, _E6 = 0.009618129107588335, 0.001333355814678995, 0.00015403530462514614
_E7, _E8, _E9 = 1.5252733489960805e-05, 1.321543308959463e-06, 1.0178198033328528e-07
_E10, _E11 = 7.074105626245659e-09, 4.4352809446103363e-10
_L0, _L1, _L2, _L3 = 2.8853900817779268, 0.9617966939259898, 0.5770780163454704, 0.4121985858510767
_L4, _L5, _L6, _L7 = 0.32059853392556786, 0.26233440177811784, 0.22091186628074977, 0.21367078312504295

_ROUNDER = 1.5 * 2.0**52  # adding it rounds a double to an integer, left in the lowest bits
_EXPONENT_BIAS, _EXPONENT_SHIFT = 1023, 52  # of an IEEE double
_LARGEST_Z = 1000.0  # 2⁻ᶻ stays a normal number; what is beyond adds less than 1e-301·alpha
_HALF_OCTAVE = math.sqrt(2.0) - 1.0


@intrinsic
def _bits(context, number):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(context, bits):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@exact
def _split(error, alpha):
    """|error|/alpha = whole − rest with |rest| ≤ ½: returns rest and 2⁻ʷʰᵒˡᵉ.

    Reassociation would undo the rounding to a whole number, and make the division a product with 1/alpha.
    """
    z = min(abs(error) / alpha, _LARGEST_Z)
    shifted = z + _ROUNDER
    whole = shifted - _ROUNDER
    exponent = _bits(_ROUNDER) - _bits(shifted)
    return whole - z, _from_bits((exponent + _EXPONENT_BIAS) << _EXPONENT_SHIFT)


@fast
def softplus(error, alpha):
    """Value of the softplus kernel: max(error, 0) + alpha·log₂(1 + 2^(−|error|/alpha))."""
    rest, scale = _split(error, alpha)
    power = _E11
    for factor in (_E10, _E9, _E8, _E7, _E6, _E5, _E4, _E3, _E2, _E1, _E0):
        power = power * rest + factor
    power *= scale
    # log₂(1 + e) = log₂((1+s)/(1−s)), s = e/(2+e); above half an octave 1 + log₂((1+e)/2).
    large = power > _HALF_OCTAVE
    s = (power - 1.0 if large else power) / ((3.0 if large else 2.0) + power)
    square = s * s
    series = _L7
    for factor in (_L6, _L5, _L4, _L3, _L2, _L1, _L0):
        series = series * square + factor
    return max(error, 0.0) + alpha * ((1.0 if large else 0.0) + s * series)


@fast
def algebraic(error, alpha):
    """Value of the algebraic kernel: max(error, 0) + 2·alpha²/(√(error² + 4·alpha²) + |error|)."""
    size = abs(error)
    return max(error, 0.0) + 2.0 * alpha * alpha / (math.sqrt(error * error + 4.0 * alpha * alpha) + size)


@fast
def quadratic(error):
    """Value of the Courant-Beltrami kernel: max(error, 0)²."""
    positive = max(error, 0.0)
    return positive * positive


@fast
def terms(kernel, error, sigma, alpha, out):
    """Fill `out` with the terms sigma·g(error) of the kernel with this number."""
    if kernel == _QUADRATIC:
        for i in range(error.size):
            out[i] = sigma[i] * quadratic(error[i])
    elif kernel == _ALGEBRAIC:
        for i in range(error.size):
            out[i] = sigma[i] * algebraic(error[i], alpha)
    else:
        for i in range(error.size):
            out[i] = sigma[i] * softplus(error[i], alpha)


@exact
def slope(kernel, error, alpha):
    """Slope of the kernel, for the experiment with exact gradients."""
    if kernel == _QUADRATIC:
        return 2.0 * max(error, 0.0)
    if kernel == _ALGEBRAIC:
        root = math.sqrt(error * error + 4.0 * alpha * alpha)
        share = 2.0 * alpha * alpha / (root * (root + abs(error)))
    else:
        power = 2.0 ** -min(abs(error) / alpha, _LARGEST_Z)
        share = power / (1.0 + power)
    return 1.0 - share if error >= 0.0 else share
