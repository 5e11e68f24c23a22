"""A problem that can be sent to other processes: everything is at the top of a module."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import rosen

from softpenalty import Constraint, shared

START = [-1.2, 1.0, 0.5, 2.0]  # at the edge of the domain: a difference fails there


class NotConvergedError(Exception):
    """What the simulation raises outside its domain."""


def simulate(x: np.ndarray) -> dict[str, Any]:
    """One simulation gives everything, and fails where x[2] or x[3] is large."""
    if max(x[2], x[3]) > 2.0:
        raise NotConvergedError("no convergence")
    return {"cost": rosen(x), "size": x @ x, "flow": np.array([x[0] + x[1], x[2] - x[3]])}


def arguments() -> dict[str, Any]:
    """What `minimize` is called with."""
    plant = shared(simulate)
    return {
        "fun": plant["cost"],
        "x0": START,
        "bounds": [(-3.0, 3.0)] * 4,
        "constraints": [
            Constraint(plant["size"], "<", 2.0, name="size"),
            Constraint(plant["flow"], ">", [-1.0, 0.1], name="flow"),
        ],
    }
