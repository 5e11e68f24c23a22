"""One BLAS thread where trials are computed.

Chunks are computed side by side already. More threads below them only wait for each other (SLSQP at N = 50
took 15 to 200 times as long), and sums in another order change its rows. Environment variables come too late
in a process that has loaded NumPy, such as a worker of a cluster. Without threadpoolctl nothing is done.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  only libraries that are loaded can be limited: NumPy has one, SciPy another


def one_blas_thread() -> Any:
    """A context in which BLAS has one thread; to be left by the thread that entered it."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1, user_api="blas")


@cache
def keep_one_blas_thread() -> None:
    """The same for the rest of a process that computes trials; Dask does it in workers with a nanny."""
    one_blas_thread()
