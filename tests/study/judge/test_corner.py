"""Fig. 4's problem."""

from __future__ import annotations

import numpy as np

from softpenalty.study.design import published
from softpenalty.study.judge import corner


def test_the_paths_end_where_the_papers_do() -> None:
    for path in corner.paths():
        # published to three decimals
        np.testing.assert_allclose(path.end, published.PATH_ENDS[path.configuration], atol=6e-4)
        # SciPy's line search may take a step more or less from one version to the next
        assert abs(path.iterations - published.PATH_ITERATIONS[path.configuration]) <= 1
