"""`AdaptivePenalty` as a formulation of Cooper (the package cooper-optim), for those who train with it.

    constraint = cooper.Constraint(ConstraintType.INEQUALITY, formulation_type=adaptive(1, alpha=0.02))

It needs no multiplier and no dual optimizer: `cooper.optim.UnconstrainedOptimizer` rolls it, and optimizers
with dual variables do where other constraints have some.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..extras import install_hint
from .torch import AdaptivePenalty

try:
    import cooper
except ImportError as error:
    raise ImportError(f"`softpenalty.training.cooper` needs Cooper: {install_hint('cooper')}.") from error

__all__ = ["AdaptiveFormulation", "adaptive"]


class AdaptiveFormulation(cooper.formulations.Formulation):  # type: ignore[misc]
    """The contribution of constraints whose weights adapt themselves.

    `penalty` is the `AdaptivePenalty`, with its multipliers and its ``state_dict`` (Cooper does not save it).
    A strict violation, where the state has one, is what the weights follow.

    Examples
    --------
    >>> import cooper, torch
    >>> kind = cooper.ConstraintType.INEQUALITY
    >>> limit = cooper.Constraint(kind, formulation_type=adaptive(1, alpha=0.1, sigma=2.0))
    >>> state = cooper.ConstraintState(torch.zeros(1, requires_grad=True))
    >>> found = limit.formulation.compute_contribution_to_primal_lagrangian(state)
    >>> limit.formulation.penalty.multiplier                # half of sigma at the target
    tensor([1.])
    """

    expects_multiplier = False
    expects_penalty_coefficient = False

    def __init__(self, constraint_type: Any, penalty: AdaptivePenalty) -> None:
        super().__init__(constraint_type)
        self.penalty = penalty

    def compute_contribution_to_primal_lagrangian(self, constraint_state: Any) -> Any:
        """Return Σ weight·violation; what the step before has seen moves the weights first."""
        if not constraint_state.contributes_to_primal_update:
            return None
        self.penalty.update()
        violation, strict = constraint_state.extract_violations()
        contribution = self.penalty(violation, exact=strict.detach())
        return cooper.formulations.ContributionStore(contribution, self.penalty.multiplier)

    def compute_contribution_to_dual_lagrangian(self, constraint_state: Any) -> None:
        """There are no dual variables."""


def adaptive(n: int, **settings: Any) -> Callable[..., AdaptiveFormulation]:
    """Return what Cooper's `Constraint` takes as `formulation_type` for n constraints.

    `settings` are those of `softpenalty.training.torch.AdaptivePenalty`, without the operator, which is the
    constraint's.

    Examples
    --------
    >>> import cooper
    >>> limit = cooper.Constraint(
    ...     cooper.ConstraintType.INEQUALITY, formulation_type=adaptive(3, alpha=0.02)
    ... )
    >>> limit.formulation.penalty.multiplier.shape
    torch.Size([3])
    """

    def formulation(constraint_type: Any) -> AdaptiveFormulation:
        equality = constraint_type == cooper.ConstraintType.EQUALITY
        return AdaptiveFormulation(
            constraint_type, AdaptivePenalty(n, operator="=" if equality else "<", **settings)
        )

    return formulation
