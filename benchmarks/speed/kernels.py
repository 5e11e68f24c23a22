"""Speed and accuracy of the kernels against their goals, measured in one interleaved run.

Run ``python benchmarks/speed/kernels.py``. Everything is measured twice: as the machine is, and with NumPy's
AVX-512 loops switched off, because the goals were set on AVX2. (On AVX-512 NumPy computes exp2 and log1p
about ten times faster, so that softplus costs no more than algebraic, and slope and curvature, a few plain
operations, cost about as much as the value.)

Times are processor times. The candidates of one comparison take turns; each ratio is that of the shortest
times, and its spread is the range of the ratios of single turns without their outer quarters.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from softpenalty import KERNELS

ALPHA = 0.25  # errors are drawn from a normal distribution: most lie in the bend
WIDE_LOOPS = [
    name for name in __cpu_dispatch__ if name.startswith(("AVX512", "X86_V4")) and __cpu_features__[name]
]
IMPORT_TURNS = 15

Row = tuple[str, str, str, bool]  # what, goal, measured, reached


# --- the author's way: the literal formulas, each masked where 2^(x/alpha) would overflow ---------------


def author_value(error: Any, alpha: float) -> Any:
    masked = error / alpha > 1000.0
    safe = np.where(masked, 0.0, error)
    return np.where(masked, error, alpha * np.log2(1.0 + 2.0 ** (safe / alpha)))


def author_slope(error: Any, alpha: float) -> Any:
    masked = error / alpha < -1000.0
    safe = np.where(masked, 0.0, error)
    return np.where(masked, 0.0, 1.0 / (1.0 + 2.0 ** (-safe / alpha)))


def author_curvature(error: Any, alpha: float) -> Any:
    masked = np.abs(error / alpha) > 500.0
    safe = np.where(masked, 0.0, error)
    power = 2.0 ** (-safe / alpha)
    return np.where(masked, 0.0, math.log(2.0) / alpha * power / (1.0 + power) ** 2)


def author_all(error: Any, alpha: float) -> Any:
    return author_value(error, alpha), author_slope(error, alpha), author_curvature(error, alpha)


# --- measuring ------------------------------------------------------------------------------------------


def turns(candidates: Sequence[Callable[[], Any]], seconds: float) -> np.ndarray:
    """Return processor times (turns, candidates) of calls that take turns for about `seconds`."""
    repeats = []
    for call in candidates:  # a turn of a short call is many calls, 200 µs or more
        call()
        start = time.perf_counter()
        call()
        repeats.append(max(1, round(2e-4 / (time.perf_counter() - start))))
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 8 or time.perf_counter() < end:
        row = []
        for call, repeat in zip(candidates, repeats, strict=True):
            start = time.process_time_ns()
            for _ in range(repeat):
                call()
            row.append((time.process_time_ns() - start) / repeat)
        times.append(row)
    return np.array(times)


def ratio_row(
    what: str, goal: float, numerator: Callable[[], Any], denominator: Callable[[], Any], size: int
) -> Row:
    times = turns([numerator, denominator], seconds=1.2)
    above, below = times.min(axis=0)
    low, high = np.quantile(times[:, 0] / times[:, 1], [0.25, 0.75])
    unit = (
        f"{above / size:.1f} : {below / size:.1f} ns/element"
        if size > 1000
        else f"{above / 1e3:.1f} : {below / 1e3:.1f} µs"
    )
    return what, f"≤ {goal}", f"{above / below:.2f}  ({low:.2f}-{high:.2f};  {unit})", above / below <= goal


def speed_rows() -> list[Row]:
    random = np.random.default_rng(0)
    errors = {size: random.normal(size=size) for size in (50, 10_000, 100_000, 1_000_000)}
    softplus, algebraic = KERNELS["softplus"], KERNELS["algebraic"]
    rows = []
    for size in (10_000, 100_000, 1_000_000):
        x = errors[size]
        rows.append(
            ratio_row(
                f"softplus / algebraic, value, {size:.0e}",
                4.0,
                lambda x=x: softplus.value(x, ALPHA),
                lambda x=x: algebraic.value(x, ALPHA),
                size,
            )
        )
    x = errors[1_000_000]
    rows.append(
        ratio_row(
            "softplus / author's formula, value, 1e+06",
            0.8,
            lambda: softplus.value(x, ALPHA),
            lambda: author_value(x, ALPHA),
            x.size,
        )
    )
    for kernel in (softplus, algebraic):
        for size in (10_000, 1_000_000):
            x = errors[size]
            rows.append(
                ratio_row(
                    f"{kernel.name}, all three / value, {size:.0e}",
                    1.5,
                    lambda x=x, kernel=kernel: kernel.evaluate(x, ALPHA),
                    lambda x=x, kernel=kernel: kernel.value(x, ALPHA),
                    size,
                )
            )
    few = errors[50]
    rows.append(
        ratio_row(
            "softplus, all three / author's three calls, 50",
            0.5,
            lambda: softplus.evaluate(few, ALPHA),
            lambda: author_all(few, ALPHA),
            few.size,
        )
    )
    return rows


def accuracy_row(kernel: str) -> Row:
    """Errors in float32, alpha = 1, against the same formulas in long double: exact by comparison."""
    random = np.random.default_rng(1)
    error = (random.choice([-1.0, 1.0], 1_000_000) * 2.0 ** random.uniform(-14, 6, 1_000_000)).astype(
        np.float32
    )
    x = error.astype(np.longdouble)
    if kernel == "softplus":
        power = np.exp2(-np.abs(x))
        corner, missing = np.log1p(power) / np.log(np.longdouble(2)), power / (1 + power)
        curvature = np.log(np.longdouble(2)) * missing / (1 + power)
    else:
        root = np.sqrt(x * x + 4)
        corner = 2 / (root + np.abs(x))
        missing, curvature = corner / root, 2 / root**3
    exact = np.maximum(x, 0) + corner, np.where(x > 0, 1 - missing, missing), curvature
    worst = [
        float(np.max(np.abs(found - right) / np.spacing(right.astype(np.float32))))
        for found, right in zip(KERNELS[kernel].evaluate(error, 1.0), exact, strict=True)
    ]
    measured = ", ".join(f"{ulps:.1f}" for ulps in worst)
    reached = worst[0] <= 4 and worst[1] <= 4 and worst[2] <= 7
    return f"{kernel}, largest error in ulp, float32", "≤ 4, 4, 7", measured, reached


def import_row() -> Row:
    """Processor time of the import in new processes that have imported NumPy already."""
    code = (
        "import time, numpy; start = time.process_time(); import softpenalty; softpenalty.KERNELS; "
        "print(time.process_time() - start)"
    )
    times = [
        1e3 * float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(IMPORT_TURNS)
    ]
    median = statistics.median(times)
    measured = f"{median:.1f} ms  ({min(times):.1f}-{max(times):.1f})"
    return "import softpenalty over numpy", "≤ 10 ms", measured, median <= 10


def measure() -> list[Row]:
    return [*speed_rows(), accuracy_row("softplus"), accuracy_row("algebraic")]


def show(title: str, rows: list[Row]) -> None:
    print(f"\n{title}")
    print(f"  {'':48} {'goal':10} {'measured':50} reached")
    for what, goal, measured, reached in rows:
        print(f"  {what:48} {goal:10} {measured:50} {'yes' if reached else 'NO'}")


def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}")
    show("As the machine is" + (" (AVX-512)" if WIDE_LOOPS else ""), [*measure(), import_row()])
    if WIDE_LOOPS:
        environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(WIDE_LOOPS)}
        command = [sys.executable, __file__, "--json"]
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        show("Without AVX-512 loops, as the goals were set", json.loads(run.stdout))


if __name__ == "__main__":
    if sys.argv[1:] == ["--json"]:
        print(
            json.dumps([(what, goal, measured, bool(reached)) for what, goal, measured, reached in measure()])
        )
    else:
        main()
