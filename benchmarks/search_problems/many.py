"""Twelve problems with many minima, and Rastrigin's function turned."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy import cos, exp, pi, sin

from .cec2006 import keane
from .problem import SearchProblem, box


def gomez_levy(x):
    a, b = x
    f = 4 * a**2 - 2.1 * a**4 + a**6 / 3 + a * b - 4 * b**2 + 4 * b**4
    return f, [2 * sin(2 * pi * b) ** 2 - sin(4 * pi * a) - 1.5], ()


def bird(x):
    """Mishra's bird in a disk."""
    a, b = x
    f = sin(b) * exp((1 - cos(a)) ** 2) + cos(a) * exp((1 - sin(b)) ** 2) + (a - b) ** 2
    return f, [(a + 5) ** 2 + (b + 5) ** 2 - 25], ()


def townsend(x):
    """In the shape of a heart."""
    a, b = x
    t = np.arctan2(a, b)
    shape = (2 * cos(t) - cos(2 * t) / 2 - cos(3 * t) / 4 - cos(4 * t) / 8) ** 2 + (2 * sin(t)) ** 2
    return -(cos((a - 0.1) * b) ** 2) - a * sin(3 * a + b), [a**2 + b**2 - shape], ()


def packing(x):
    """Equal circles in the unit square, as large as possible: x, y of each, and their radius."""
    radius, centres = x[-1], x[:-1].reshape(2, -1)
    i, j = np.triu_indices(centres.shape[1], 1)
    apart = np.sum((centres[:, i] - centres[:, j]) ** 2, axis=0)
    edges = [*(radius - centres.ravel()), *(centres.ravel() + radius - 1)]
    return -radius, [*(4 * radius**2 - apart), *edges], ()


# Units of a power system: least and most power, quadratic, linear and constant cost, and the valves' ripple.
THREE_UNITS = np.array(
    [
        [100, 600, 0.001562, 7.92, 561, 300, 0.0315],
        [100, 400, 0.00194, 7.85, 310, 200, 0.042],
        [50, 200, 0.00482, 7.97, 78, 150, 0.063],
    ]
)
THIRTEEN_UNITS = np.array(
    [
        [0, 680, 0.00028, 8.10, 550, 300, 0.035],
        [0, 360, 0.00056, 8.10, 309, 200, 0.042],
        [0, 360, 0.00056, 8.10, 307, 200, 0.042],
        *[[60, 180, 0.00324, 7.74, 240, 150, 0.063]] * 6,
        *[[40, 120, 0.00284, 8.60, 126, 100, 0.084]] * 2,
        *[[55, 120, 0.00284, 8.60, 126, 100, 0.084]] * 2,
    ]
)


def dispatch(units, demand, x):
    """Cheapest way to meet a demand for power; valves make the cost ripple, with kinks."""
    least, _, quadratic, linear, constant, height, frequency = units.T
    f = np.sum(quadratic * x**2 + linear * x + constant + np.abs(height * sin(frequency * (least - x))))
    return f, (), [np.sum(x) - demand]


def rastrigin(x):
    return 10 * x.size + np.sum(x**2 - 10 * cos(2 * pi * x))


def cut_rastrigin(x):
    """Half of the coordinates must leave the best minimum, whichever."""
    return rastrigin(x), [x.size / 2 - np.sum(x)], ()


def turned_rastrigin(turn, x):
    return rastrigin(turn @ x), (), ()


HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
     [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]
)  # fmt: skip


def hartmann(x):
    """Hartmann's function of six variables in the unit ball."""
    heights = np.array([1, 1.2, 3, 3.2])
    return -heights @ exp(-np.sum(HARTMANN_A * (x - HARTMANN_P) ** 2, axis=1)), [x @ x - 1], ()


def _units(name: str, units, demand: float, published: float) -> SearchProblem:
    return SearchProblem(name, partial(dispatch, units, demand), units[:, :2], published, many=True)


def _circles(count: int, radius: float) -> SearchProblem:
    bounds = box([*[0] * (2 * count), 0.01], [*[1] * (2 * count), 0.5])
    return SearchProblem(f"circles {count}", packing, bounds, -radius, many=True)


MANY = [
    SearchProblem("Keane 5", keane, box(0, 10, 5), -0.634448, many=True),
    SearchProblem("Keane 10", keane, box(0, 10, 10), -0.747310, many=True),
    SearchProblem("Gomez-Levy", gomez_levy, box([-1, -1], [0.75, 1]), -1.031628, many=True),
    SearchProblem("bird", bird, box([-10, -6.5], [0, 0]), -106.7645367, many=True),
    SearchProblem("Townsend", townsend, box([-2.25, -2.5], [2.25, 1.75]), -2.0239884, many=True),
    _circles(7, 0.174457630),
    _circles(10, 0.148204322),
    _units("dispatch 3", THREE_UNITS, 850.0, 8234.0717),
    _units("dispatch 13", THIRTEEN_UNITS, 1800.0, 17963.83),
    # Two minima of a coordinate are at 0 and 0.99496, worth 0 and 0.99496.
    SearchProblem("Rastrigin 5", cut_rastrigin, box(-5.12, 5.12, 5), 2.98488, many=True),
    SearchProblem("Rastrigin 10", cut_rastrigin, box(-5.12, 5.12, 10), 4.98739843, many=True),
    SearchProblem("Hartmann 6", hartmann, box(0, 1, 6), -3.32236801, many=True),
]


def turned(seed: int, n: int = 8) -> SearchProblem:
    """Rastrigin's function in coordinates turned at random."""
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    state, bounds = partial(turned_rastrigin, turn), box(-5.12, 5.12, n)
    return SearchProblem(f"turned Rastrigin {seed}", state, bounds, 0.0, many=True, known=np.zeros(n))
