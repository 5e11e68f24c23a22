"""Four textbook designs, each with its report: what binds, what a limit costs, what the textbook says.

No derivatives are given and the starts are the middle of the bounds. Run all, or some by name:
``python examples/design.py "pressure vessel" Himmelblau``. A fifth, the welded beam, is in the gallery.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from softpenalty import Constraint, minimize


@dataclass(frozen=True)
class Design:
    """Minimize `fun` of variables with names and limits, with constraints; `textbook` is the minimum."""

    name: str
    fun: Callable[[np.ndarray], float]
    variables: dict[str, tuple[float, float]]
    constraints: list[Constraint]
    textbook: float

    def solve(self) -> Any:
        low, high = np.array(list(self.variables.values())).T
        return minimize(
            self.fun,
            (low + high) / 2,
            bounds=Bounds(low, high),
            constraints=self.constraints,
            names=list(self.variables),
        )


# A cylinder with round heads for 750 ft³ under pressure: the cheapest sheet, forming and welding, in inches.
PRESSURE_VESSEL = Design(
    "pressure vessel",
    lambda x: (
        0.6224 * x[0] * x[2] * x[3]
        + 1.7781 * x[1] * x[2] ** 2
        + 3.1661 * x[0] ** 2 * x[3]
        + 19.84 * x[0] ** 2 * x[2]
    ),
    {"shell": (0.0625, 6.1875), "head": (0.0625, 6.1875), "radius": (10.0, 200.0), "length": (10.0, 200.0)},
    [
        Constraint(lambda x: x[0] / x[2], ">", 0.0193, name="shell/radius"),
        Constraint(lambda x: x[1] / x[2], ">", 0.00954, name="head/radius"),
        Constraint(lambda x: np.pi * x[2] ** 2 * (x[3] + 4 / 3 * x[2]), ">", 1_296_000.0, name="volume"),
    ],
    5885.33,
)

# The lightest spring that deflects, carries and stays out of resonance; each limit is scaled to 1.
TENSION_SPRING = Design(
    "tension spring",
    lambda x: (x[2] + 2) * x[1] * x[0] ** 2,
    {"wire": (0.05, 2.0), "coil": (0.25, 1.3), "turns": (2.0, 15.0)},
    [
        Constraint(lambda x: x[1] ** 3 * x[2] / (71785 * x[0] ** 4), ">", 1.0, name="deflection"),
        Constraint(
            lambda x: (
                (4 * x[1] ** 2 - x[0] * x[1]) / (12566 * (x[1] * x[0] ** 3 - x[0] ** 4))
                + 1 / (5108 * x[0] ** 2)
            ),
            "<",
            1.0,
            name="shear stress",
        ),
        Constraint(lambda x: 140.45 * x[0] / (x[1] ** 2 * x[2]), ">", 1.0, name="surge frequency"),
        Constraint(lambda x: (x[0] + x[1]) / 1.5, "<", 1.0, name="outer diameter"),
    ],
    0.0126652,
)


def reducer_weight(x):
    a, b, c, d, e, f, g = x
    gears = 0.7854 * a * b**2 * (3.3333 * c**2 + 14.9334 * c - 43.0934) - 1.508 * a * (f**2 + g**2)
    return gears + 7.4777 * (f**3 + g**3) + 0.7854 * (d * f**2 + e * g**2)


def shaft_stress(length, diameter, load, x):
    return np.sqrt((745 * length / (x[1] * x[2])) ** 2 + load) / diameter**3


# The lightest gear box with two shafts; the numbers on the right are the usual limits.
SPEED_REDUCER = Design(
    "speed reducer",
    reducer_weight,
    {
        "face": (2.6, 3.6),
        "module": (0.7, 0.8),
        "teeth": (17.0, 28.0),
        "shaft 1": (7.3, 8.3),
        "shaft 2": (7.3, 8.3),
        "diameter 1": (2.9, 3.9),
        "diameter 2": (5.0, 5.5),
    },
    [
        Constraint(lambda x: 27 / (x[0] * x[1] ** 2 * x[2]), "<", 1.0, name="tooth bending"),
        Constraint(lambda x: 397.5 / (x[0] * x[1] ** 2 * x[2] ** 2), "<", 1.0, name="tooth surface"),
        Constraint(lambda x: 1.93 * x[3] ** 3 / (x[1] * x[2] * x[5] ** 4), "<", 1.0, name="deflection 1"),
        Constraint(lambda x: 1.93 * x[4] ** 3 / (x[1] * x[2] * x[6] ** 4), "<", 1.0, name="deflection 2"),
        Constraint(lambda x: shaft_stress(x[3], x[5], 16.9e6, x), "<", 110.0, name="stress 1"),
        Constraint(lambda x: shaft_stress(x[4], x[6], 157.5e6, x), "<", 85.0, name="stress 2"),
        Constraint(lambda x: x[1] * x[2], "<", 40.0, name="pitch"),
        Constraint(lambda x: x[0] / x[1], ">", 5.0, name="face/module, least"),
        Constraint(lambda x: x[0] / x[1], "<", 12.0, name="face/module, most"),
        Constraint(lambda x: x[3] - 1.5 * x[5], ">", 1.9, name="room on shaft 1"),
        Constraint(lambda x: x[4] - 1.1 * x[6], ">", 1.9, name="room on shaft 2"),
    ],
    2994.47,
)


def outputs(x):
    a, b, c, d, e = x
    return np.array(
        [
            85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e,
            80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c**2,
            9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d,
        ]
    )


# Himmelblau's nonlinear problem: three outputs of a process, each within its range.
HIMMELBLAU = Design(
    "Himmelblau",
    lambda x: 5.3578547 * x[2] ** 2 + 0.8356891 * x[0] * x[4] + 37.293239 * x[0] - 40792.141,
    {"a": (78.0, 102.0), "b": (33.0, 45.0), "c": (27.0, 45.0), "d": (27.0, 45.0), "e": (27.0, 45.0)},
    [
        Constraint(outputs, "<", [92.0, 110.0, 25.0], name="output, most"),
        Constraint(outputs, ">", [0.0, 90.0, 20.0], name="output, least"),
    ],
    -30665.54,
)

DESIGNS = (PRESSURE_VESSEL, TENSION_SPRING, SPEED_REDUCER, HIMMELBLAU)


def main() -> None:
    chosen = [design for design in DESIGNS if design.name in sys.argv[1:]] or DESIGNS
    for design in chosen:
        title = f"{design.name} (textbook: {design.textbook:g})"
        print(title, "=" * len(title), design.solve().report(), "", sep="\n")


if __name__ == "__main__":
    main()
