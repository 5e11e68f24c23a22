"""Six engineering designs with known best values."""

from __future__ import annotations

import numpy as np
from numpy import pi, sqrt

from .problem import SearchProblem, box


def welded_beam(x):
    h, length, t, b = x
    load, arm, young, shear = 6000.0, 14.0, 30e6, 12e6
    primary = load / (sqrt(2) * h * length)
    radius = sqrt(length**2 / 4 + (h + t) ** 2 / 4)
    inertia = 2 * sqrt(2) * h * length * (length**2 / 12 + (h + t) ** 2 / 4)
    secondary = load * (arm + length / 2) * radius / inertia
    stress = sqrt(primary**2 + primary * secondary * length / radius + secondary**2)
    buckling = 4.013 * young * t * b**3 / (6 * arm**2) * (1 - t / (2 * arm) * sqrt(young / (4 * shear)))
    g = [
        stress / 13600 - 1,
        6 * load * arm / (b * t**2) / 30000 - 1,
        h - b,
        0.10471 * h**2 + 0.04811 * t * b * (14 + length) - 5,
        4 * load * arm**3 / (young * t**3 * b) - 0.25,
        1 - buckling / load,
    ]
    return 1.10471 * h**2 * length + 0.04811 * t * b * (14 + length), g, ()


def pressure_vessel(x):
    shell, head, r, length = x
    f = 0.6224 * shell * r * length + 1.7781 * head * r**2 + 3.1661 * shell**2 * length + 19.84 * shell**2 * r
    volume = pi * r**2 * length + 4 / 3 * pi * r**3
    return f, [0.0193 * r - shell, 0.00954 * r - head, 1 - volume / 1296000], ()


def tension_spring(x):
    d, D, N = x
    g = [
        1 - D**3 * N / (71785 * d**4),
        (4 * D**2 - d * D) / (12566 * (D * d**3 - d**4)) + 1 / (5108 * d**2) - 1,
        1 - 140.45 * d / (D**2 * N),
        (d + D) / 1.5 - 1,
    ]
    return (N + 2) * D * d**2, g, ()


def speed_reducer(x):
    a, b, c, d, e, p, q = x  # face width, module, teeth, lengths and diameters of the shafts
    f = 0.7854 * a * b**2 * (3.3333 * c**2 + 14.9334 * c - 43.0934) - 1.508 * a * (p**2 + q**2)
    f += 7.4777 * (p**3 + q**3) + 0.7854 * (d * p**2 + e * q**2)
    g = [
        27 / (a * b**2 * c),
        397.5 / (a * b**2 * c**2),
        1.93 * d**3 / (b * c * p**4),
        1.93 * e**3 / (b * c * q**4),
        sqrt((745 * d / (b * c)) ** 2 + 16.9e6) / (110 * p**3),
        sqrt((745 * e / (b * c)) ** 2 + 157.5e6) / (85 * q**3),
        b * c / 40,
        5 * b / a,
        a / (12 * b),
        (1.5 * p + 1.9) / d,
        (1.1 * q + 1.9) / e,
    ]
    return f, np.array(g) - 1, ()


def three_bar_truss(x):
    a, b = x
    load, allowed = 2.0, 2.0
    common = sqrt(2) * a**2 + 2 * a * b
    g = [
        (sqrt(2) * a + b) / common * load - allowed,
        b / common * load - allowed,
        load / (a + sqrt(2) * b) - allowed,
    ]
    return (2 * sqrt(2) * a + b) * 100, g, ()


def stepped_beam(x):
    """A cantilever of five hollow square parts."""
    return 0.0624 * np.sum(x), [np.array([61, 37, 19, 7, 1]) @ x**-3.0 - 1], ()


DESIGNS = [
    SearchProblem("welded beam", welded_beam, box([0.125, 0.1, 0.1, 0.1], [2, 10, 10, 2]), 1.72485231),
    SearchProblem(
        "pressure vessel",
        pressure_vessel,
        box([0.0625, 0.0625, 10, 10], [6.1875, 6.1875, 200, 200]),
        5885.33277,
    ),
    SearchProblem("tension spring", tension_spring, box([0.05, 0.25, 2], [2, 1.3, 15]), 0.0126652328),
    SearchProblem(
        "speed reducer",
        speed_reducer,
        box([2.6, 0.7, 17, 7.3, 7.3, 2.9, 5.0], [3.6, 0.8, 28, 8.3, 8.3, 3.9, 5.5]),
        2994.47107,
    ),
    SearchProblem("three-bar truss", three_bar_truss, box(0.01, 1, 2), 263.895843),
    SearchProblem("stepped beam", stepped_beam, box(0.01, 100, 5), 1.33995636),
]
