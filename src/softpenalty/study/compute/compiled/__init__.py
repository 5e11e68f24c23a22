"""The study's optimizer compiled with numba: kernels → penalized → line_search → bfgs.

Importing this package needs numba; :mod:`softpenalty.study.compute.engine` decides whether it is used.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import numba

# Without "ninf" and "nnan": the line search tests for infinite and undefined numbers.
REASSOCIATE = frozenset({"reassoc", "contract", "nsz", "arcp"})


def exact(function: Any) -> Any:
    """Compile with every operation rounded as written, whoever calls: unset, the flag would be inherited."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=False)(function)


def fast(function: Any) -> Any:
    """Compile with sums in any order, so that loops use vector instructions."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=set(REASSOCIATE))(function)


def cache_folder(package: Path) -> str:
    """Where compiled code is kept: beside the source (""), else the user's cache, else a temporary folder."""
    if os.access(package, os.W_OK):
        return ""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "softpenalty" / "numba"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return str(folder)
    except (OSError, RuntimeError):  # no home, or a read-only one
        pass
    return tempfile.mkdtemp(prefix="softpenalty-numba-")


if not numba.config.CACHE_DIR:  # NUMBA_CACHE_DIR is the user's choice
    numba.config.CACHE_DIR = cache_folder(Path(__file__).parent)
