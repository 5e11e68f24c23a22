"""Every kernel against the paper's literal formulas in high precision, to a few units in the last place."""

from __future__ import annotations

import functools
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from formulas import reference
from softpenalty import KERNELS

POWERS = [2.0**exponent for exponent in (-30, -13, -3, 0, 5, 10)]
EXTREMES = {np.float64: [2.0**-500, 2.0**-100, 2.0**100, 2.0**900], np.float32: [2.0**-60, 2.0**60, 2.0**90]}
OTHERS = [float(np.float32(alpha)) for alpha in (3e-5, 0.1, 1 / 3, 7.3, 1000.1)]
CASES = [
    pytest.param(kernel, dtype, alpha, id=f"{kernel}-{dtype.__name__}-{alpha:.3g}")
    for kernel in KERNELS
    for dtype in (np.float64, np.float32)
    for alpha in ([*POWERS, *EXTREMES[dtype], *OTHERS] if KERNELS[kernel].has_width else [1.0])
]


@functools.cache
def table(kernel: str, dtype: type, alpha: float) -> reference.Table:
    return reference.table(kernel, reference.grid(dtype, alpha), alpha)


@pytest.mark.parametrize(("kernel", "dtype", "alpha"), CASES)
def test_value_slope_and_curvature_are_right_to_a_few_ulp(kernel, dtype, alpha):
    for method, excess in reference.excess(table(kernel, dtype, alpha)).items():
        assert excess <= 1, f"{method} is off by {excess:.3g} times what is allowed"


def test_they_are_right_with_the_scalar_loops_of_numpy_too(tmp_path):
    """On AVX-512 NumPy has its own exp2 and log1p; elsewhere it calls the C library's, which differ."""
    wide = [
        name for name in __cpu_dispatch__ if name.startswith(("AVX512", "X86_V4")) and __cpu_features__[name]
    ]
    tables = [table(*case.values) for case in CASES]
    path = tmp_path / "tables.pickle"
    path.write_bytes(pickle.dumps([tuple(each) for each in tables]))
    run = subprocess.run(
        [sys.executable, "-W", "error", reference.__file__, str(path)],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(wide)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    results = json.loads(run.stdout)
    assert len(results) == len(CASES)
    worst = max(
        (excess, case.id, method)
        for case, result in zip(CASES, results, strict=True)
        for method, excess in result.items()
    )
    assert worst[0] <= 1, worst


@pytest.mark.parametrize("kernel", KERNELS)
def test_float32_is_right_at_a_million_points(kernel):
    """Where it bends, float32 is sampled densely enough to meet its worst cases; float64 is the reference."""
    sizes = np.arange(np.float32(2**-8).view(np.int32), np.float32(2**6).view(np.int32), 113, dtype=np.int32)
    error = np.concatenate([-sizes.view(np.float32), sizes.view(np.float32)])
    exact = KERNELS[kernel].evaluate(error.astype(float), 1.0)  # right to 4e-9 float32 ulp, as shown above
    for method, result, right in zip(
        reference.METHODS, KERNELS[kernel].evaluate(error, 1.0), exact, strict=True
    ):
        distance = np.abs(result - right) / reference.ulp(right.astype(np.float32))
        assert np.max(distance) <= reference.LIMITS[method], method


def test_the_measure_itself_sees_ulps():
    """References moved by k ulp must be measured as k ulp: the tests above can fail."""
    name, error, alpha, nearest, rest = table("algebraic", np.float64, 1.0)
    finite = np.abs(error) < 1e300
    for steps in (5, 50):
        moved = nearest[:, finite] + steps * reference.ulp(nearest[:, finite])
        excess = reference.excess(reference.Table(name, error[finite], alpha, moved, rest[:, finite]))
        # to within the kernel's own 2-3 ulp, and the factor 2 where a move crosses a power of two
        assert (steps - 3) / 4 <= excess["value"] <= (2 * steps + 3) / 4
        assert (steps - 5) / 7 < excess["curvature"] <= (2 * steps + 5) / 7


def test_every_kernel_has_a_reference():
    with pytest.raises(LookupError, match="add one"):
        reference.literal("unheard of", 1.0, 1.0)
    assert {case.values[0] for case in CASES} == set(KERNELS)
