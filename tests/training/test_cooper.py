"""The adapter, within Cooper as it is installed."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
cooper = pytest.importorskip("cooper")

from softpenalty.training.cooper import adaptive  # noqa: E402
from softpenalty.training.torch import AdaptivePenalty  # noqa: E402

SETTINGS = {"alpha": 0.2, "eta": 0.1, "decay": 0.0}


class Nearest(cooper.ConstrainedMinimizationProblem):
    """The x nearest to 5 with x compared to 2: the multiplier is 3."""

    def __init__(self, kind, strict=False, **settings):
        super().__init__()
        self.x = torch.zeros(1, requires_grad=True)
        self.strict = strict
        self.constraint = cooper.Constraint(kind, formulation_type=adaptive(1, **SETTINGS, **settings))

    def compute_cmp_state(self):
        error = self.x - 2.0
        state = cooper.ConstraintState(error, strict_violation=error.detach() - 1.0 if self.strict else None)
        return cooper.CMPState(0.5 * (self.x - 5.0).square().sum(), {self.constraint: state})


def roll(problem, steps=500):
    primal = torch.optim.SGD([problem.x], lr=0.05)
    optimizer = cooper.optim.UnconstrainedOptimizer(problem, primal)
    for _ in range(steps):
        out = optimizer.roll()
    return out


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(cooper.ConstraintType.INEQUALITY, {}), (cooper.ConstraintType.EQUALITY, {"sigma": 4.0})],
    ids=["inequality", "equality"],
)
def test_it_solves(kind, settings):
    problem = Nearest(kind, **settings)
    out = roll(problem)
    assert problem.x.item() == pytest.approx(2.0, abs=1e-3)
    multipliers = out.primal_lagrangian_store.multiplier_values[problem.constraint]
    assert multipliers.item() == pytest.approx(3.0, rel=1e-2)


def test_it_is_the_module_step_by_step():
    problem = Nearest(cooper.ConstraintType.INEQUALITY)
    roll(problem, steps=20)
    problem.constraint.formulation.penalty.update()
    con = AdaptivePenalty(1, **SETTINGS)
    x = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        (0.5 * (x - 5.0).square().sum() + con(x - 2.0)).backward()
        optimizer.step()
        con.update()
    torch.testing.assert_close(problem.x, x)
    torch.testing.assert_close(problem.constraint.formulation.penalty.multiplier, con.multiplier)


def test_a_strict_violation_is_what_the_weights_follow():
    problem = Nearest(cooper.ConstraintType.INEQUALITY, strict=True)
    roll(problem)
    assert problem.x.item() == pytest.approx(3.0, abs=1e-3)


def test_it_goes_with_dual_optimizers_of_other_constraints():
    problem = Nearest(cooper.ConstraintType.INEQUALITY)
    problem.other = cooper.Constraint(
        cooper.ConstraintType.INEQUALITY,
        formulation_type=cooper.formulations.Lagrangian,
        multiplier=cooper.multipliers.DenseMultiplier(num_constraints=1),
    )

    def state():
        other = cooper.ConstraintState(problem.x - 4.0)
        found = Nearest.compute_cmp_state(problem)
        return cooper.CMPState(found.loss, {**found.observed_constraints, problem.other: other})

    problem.compute_cmp_state = state
    optimizer = cooper.optim.SimultaneousOptimizer(
        problem,
        torch.optim.SGD([problem.x], lr=0.05),
        torch.optim.SGD(problem.dual_parameters(), lr=0.05, maximize=True),
    )
    for _ in range(500):
        optimizer.roll()
    assert problem.x.item() == pytest.approx(2.0, abs=1e-3)


def test_a_state_that_does_not_contribute_is_left_alone():
    problem = Nearest(cooper.ConstraintType.INEQUALITY)
    state = cooper.ConstraintState(torch.ones(1), contributes_to_primal_update=False)
    found = problem.constraint.compute_contribution_to_lagrangian(state, "primal")
    assert found is None
    assert problem.constraint.formulation.penalty.times.item() == 0
