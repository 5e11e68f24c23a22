"""Functions at the top of a module, which other processes can import."""

from __future__ import annotations

import time

import numpy as np

from softpenalty.types import Array


def hills(x: Array) -> float:
    return float(10 * x.size + np.sum(x**2 - 10 * np.cos(2 * np.pi * x)))


def margin(x: Array) -> float:
    return float(x[0] + x[1])


def slow(x: Array) -> float:
    time.sleep(1e-3)
    return hills(x)
