"""One simulation, run once per point."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from softpenalty import Constraint, penalize, shared


def test_objective_and_constraints_share_each_run_in_differences_too():
    points = []

    def simulate(x):
        points.append(tuple(x))
        return x[0] + x[1], x[0] * x[1]

    both = shared(simulate)
    p = penalize(both[0], Constraint(both[1], ">", 25.0), sigma=0.4, alpha=0.01)
    minimize(p, [9.0, 4.0], jac=p.gradient)
    assert both.calls == len(points) == len(set(points)) == p.evaluation.nfev


def test_the_simulation_cannot_change_x_and_types_do_not_mix():
    def spoil(x):
        x[:] = 0.0
        return [x.dtype.kind]

    x = np.array([1.0])
    kind = shared(spoil)[0]
    assert (kind(x), kind(x.astype(complex))) == ("f", "c")
    assert x[0] == 1.0


def test_not_callable():
    with pytest.raises(TypeError, match=r"shared\(simulate=...\).*3"):
        shared(3)


@pytest.mark.parametrize("result", [{"mass": 1.0}, (1.0, 2.0), 3.0])
def test_a_part_that_is_not_there(result):
    with pytest.raises(ValueError, match=r"`shared\(simulate\)\['mas'\]`: there is no such part"):
        shared(lambda x: result)["mas"]([1.0])
