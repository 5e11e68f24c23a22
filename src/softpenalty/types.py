"""Names for the arrays that pass between the layers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Indices", "Mask", "States"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
States = NDArray[np.int8]
