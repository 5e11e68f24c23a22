"""Penalties for PyTorch: stateless ones, and one whose weights find themselves while training.

con = AdaptivePenalty(1, alpha=0.02)
loss = objective + con(errors)
loss.backward(); optimizer.step(); con.update()
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..extras import install_hint
from ..formulas.arrays import namespace
from ..formulas.combinations import Combination
from ..formulas.kernels import Kernel
from ..formulas.operators import find_operator
from ..formulas.penalty import penalty_and_multipliers
from .rule import Memory, make_rule

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError(f"`softpenalty.training.torch` needs PyTorch: {install_hint('torch')}.") from error

__all__ = ["AdaptivePenalty", "multiplier", "penalty"]

for kind in (torch.zeros(()), nn.Parameter(torch.zeros(()))):
    namespace(kind)  # found now, because `torch.compile` cannot look for it

CHECK = 500  # updates between two looks at the gauges: they make a GPU wait, and forget the start by then


def penalty(
    error: Tensor,
    sigma: float | Tensor = 1.0,
    alpha: float | Tensor = 0.1,
    operator: str = "<",
    kernel: str | Kernel = "softplus",
    combination: str | Combination = "sum",
) -> Tensor:
    """Return the penalty of errors (m,), a scalar; differentiable.

    Its good use are equalities whose multiplier is about 0 (boundary conditions of a physics-informed
    network). Elsewhere it leaves the error that `softpenalty.predicted_error` says: see `AdaptivePenalty`.

    Parameters
    ----------
    error : Tensor () or (m,), or (m, S) for S independent points
        value − target, signed.
    sigma, alpha : float or Tensor (m,)
        Weight (units objective/error) and corner width (units of the error).
    operator : {"<", "=", ">", "<=", "==", ">="}
    kernel : {"softplus", "algebraic", "quadratic", "linear", "huber"}
    combination : {"sum", "norm"}
    """
    return _evaluate("penalty", error, sigma, alpha, operator, kernel, combination)[0]


def multiplier(
    error: Tensor,
    sigma: float | Tensor = 1.0,
    alpha: float | Tensor = 0.1,
    operator: str = "<",
    kernel: str | Kernel = "softplus",
    combination: str | Combination = "sum",
) -> Tensor:
    """Return ∂penalty/∂error, shaped like `error`. Parameters are those of `penalty`."""
    return _evaluate("multiplier", error, sigma, alpha, operator, kernel, combination)[1].reshape(error.shape)


def _evaluate(
    call: str, error: Tensor, sigma: Any, alpha: Any, operator: str, kernel: Any, combination: Any
) -> tuple[Tensor, Tensor]:
    found = find_operator(call, operator)
    result: tuple[Tensor, Tensor] = penalty_and_multipliers(
        error.reshape(1) if error.ndim == 0 else error,
        -1.0 if found == ">" else 1.0,
        found == "=",
        sigma,
        alpha,
        None,
        kernel,
        combination,
    )
    return result


class AdaptivePenalty(nn.Module):  # type: ignore[misc]
    """A penalty on n constraints whose weights become the multipliers while the model trains.

    It holds buffers only: nothing for an optimizer, everything for a checkpoint. See the module
    `softpenalty.training.rule` for the formulas.

    Parameters
    ----------
    n : int
        Number of constraints.
    operator : {"<", "=", ">", "<=", "==", ">="}
        What the errors' values should be, compared with their targets.
    alpha : float, Tensor (n,) or "auto"
        Corner width in units of the error: about the error that matters. Under noise at least
        ``ln 2·(1 − decay)/(1 + decay)·variance/(4·tolerance)``, which "auto" keeps up with.
    sigma : float or Tensor (n,)
        Where the weight's upper limit starts; small is safe for ``<`` and ``>``. For ``=`` it stays.
    eta : float
        Step of log sigma (of the shift in units of sigma for ``=``) at each update: 0.01 to 0.1.
    decay : float
        Of the moving average of the error; 0 for full batches.
    rule : {"bounded", "log"}
        "bounded" under noise; "log" for full batches, where it decays faster.
    sigma_min, sigma_max : float
        Limits of sigma (of \\|shift\\| for ``=``).
    tolerance : float, optional
        Error that may remain: needed by ``alpha="auto"``, otherwise alpha. A bias beyond it gives a warning.

    Examples
    --------
    The x nearest to 5 with x ≤ 2, whose multiplier is 3:

    >>> import torch
    >>> x = torch.zeros(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.05)
    >>> con = AdaptivePenalty(1, alpha=0.1, eta=0.1, decay=0.0)
    >>> for _ in range(400):
    ...     optimizer.zero_grad()
    ...     (0.5 * (x - 5.0).square().sum() + con(x - 2.0)).backward()
    ...     optimizer.step()
    ...     con.update()
    >>> round(x.item(), 3), round(con.multiplier.item(), 2)
    (2.0, 3.0)
    """

    log_sigma: Tensor
    shift: Tensor
    mean: Tensor
    last: Tensor
    spread: Tensor
    times: Tensor

    def __init__(
        self,
        n: int,
        operator: str = "<",
        alpha: float | Tensor | str = 0.02,
        sigma: float | Tensor = 0.1,
        eta: float = 0.01,
        decay: float = 0.9,
        rule: str = "bounded",
        sigma_min: float = 1e-3,
        sigma_max: float = 1e6,
        tolerance: float | None = None,
    ) -> None:
        super().__init__()
        self.rule = make_rule(
            "AdaptivePenalty",
            n,
            operator,
            alpha.tolist() if isinstance(alpha, Tensor) else alpha,
            sigma.tolist() if isinstance(sigma, Tensor) else sigma,
            eta,
            decay,
            rule,
            sigma_min,
            sigma_max,
            tolerance,
        )
        self.n = n
        limits = self.rule.log_min, self.rule.log_max
        start = torch.log(torch.as_tensor(sigma, dtype=torch.get_default_dtype())).expand(n).clamp(*limits)
        self.register_buffer("log_sigma", start.clone())
        for name in ("shift", "mean", "last", "spread"):
            self.register_buffer(name, torch.zeros(n))
        self.register_buffer("times", torch.zeros(n, dtype=torch.int64))
        self._alpha: float | None = float(alpha) if isinstance(alpha, (int, float)) else None
        width = alpha.detach().clone().to(start.dtype).expand(n) if isinstance(alpha, Tensor) else None
        self.register_buffer("_alphas", width, persistent=False)
        self._total: Tensor | None = None  # errors since the last update, summed over micro-batches
        self._count: int | Tensor = 0
        self._seen: tuple[Tensor, Tensor, Tensor, Tensor] | None = None  # what they say about the next step
        self._updates = 0
        self._warned: set[str] = set()

    def forward(self, errors: Tensor, mask: Tensor | None = None, exact: Tensor | None = None) -> Tensor:
        """Return Σ weight·error, a scalar whose gradient takes the weights as constants.

        Parameters
        ----------
        errors : Tensor (n,), or () where n is 1
            value − target of this (micro-)batch, signed and differentiable.
        mask : Tensor of bool (n,), optional
            Which constraints this batch says something about. The others keep weight and state.
        exact : Tensor (n,), optional
            The errors that count, where they have no derivative (a rate, say) and `errors` stand in for
            them: weights and state follow `exact`, the gradient is that of `errors`.
        """
        errors = self._shaped("errors", errors)
        if mask is not None:
            mask = self._shaped("mask", mask)
            errors = torch.where(mask, errors, 0.0)
        memory = self._memory()
        if self.training:
            tilt = self._collect(memory, errors if exact is None else self._shaped("exact", exact), mask)
        else:
            tilt = self._tilt(memory.mean)
        weights = self.rule.weight(torch, memory, tilt)
        if weights.dtype is not errors.dtype:
            common = torch.promote_types(weights.dtype, errors.dtype)
            weights, errors = weights.to(common), errors.to(common)
        return torch.dot(weights, errors)

    def update(self, group: Any = None) -> None:
        """Take one step with the errors seen since the last one, averaged over the micro-batches.

        Parameters
        ----------
        group : torch.distributed process group, optional
            Average over its processes too (``torch.distributed.group.WORLD`` for all). Each must call.
        """
        if group is not None:
            self._all_reduce(group)
        if self._seen is None:
            return
        memory = self.rule.ascend(torch, self._memory(), *self._seen, self.alpha)
        self._buffers.update(zip(Memory._fields, memory, strict=True))
        self._total, self._count, self._seen = None, 0, None
        self._updates += 1
        if self._updates % CHECK == 0:
            self._check()

    @property
    def multiplier(self) -> Tensor:
        """The weights (n,): ≥ 0 for ``<``, ≤ 0 for ``>``."""
        weights: Tensor = self.rule.weight(torch, self._memory(), self._tilt(self.mean))
        return weights

    @property
    def sigma(self) -> Tensor:
        """The weights' upper limits (n,)."""
        return self.log_sigma.exp()

    @property
    def alpha(self) -> float | Tensor:
        """The corner width in use."""
        if self._alpha is not None:
            return self._alpha
        width: float | Tensor = self.rule.width(torch, self._memory(), self._alphas)
        return width

    @property
    def variance(self) -> Tensor:
        """The measured variance (n,) of the errors from step to step."""
        spread: Tensor = self.rule.variance(torch, self._memory())
        return spread

    @property
    def violation(self) -> Tensor:
        """How far the averaged errors break the operator (n,), ≥ 0."""
        broken: Tensor = self.rule.violation(self._memory())
        return broken

    @property
    def bias(self) -> Tensor:
        """The error (n,) at which noise is expected to leave the constraints, to second order."""
        expected: Tensor = self.rule.bias(torch, self._memory(), self.alpha)
        return expected

    def extra_repr(self) -> str:
        rule = self.rule
        parts = (
            f"operator={rule.operator!r}",
            f"rule={rule.rule!r}",
            f"eta={rule.eta:g}",
            f"decay={rule.decay:g}",
        )
        return ", ".join([str(self.n), *parts])

    def _memory(self) -> Memory:
        buffers: Any = self._buffers  # read one by one, each would take longer than a small sum
        return Memory(*[buffers[name] for name in Memory._fields])

    def _shaped(self, argument: str, given: Tensor) -> Tensor:
        if given.ndim == 0 and self.n == 1:
            return given.reshape(1)
        if given.shape != (self.n,):
            raise ValueError(
                f"`AdaptivePenalty(...)({argument})` must have shape ({self.n},); got {tuple(given.shape)}."
            )
        return given

    def _collect(self, memory: Memory, errors: Tensor, mask: Tensor | None) -> Tensor:
        """Add a micro-batch, and return the tilt of the mean error that an update now would leave."""
        errors = errors.detach()
        if errors.dtype is not memory.mean.dtype:
            errors = errors.to(memory.mean.dtype)
        seen: int | Tensor = 1
        if mask is not None:
            errors, seen = torch.where(mask, errors, 0.0), mask.to(errors.dtype)
        self._total = errors if self._total is None else self._total + errors
        self._count = self._count + seen
        return self._average(memory)

    def _all_reduce(self, group: Any) -> None:
        """Sum what all processes have collected; a process may have seen nothing."""
        total = torch.zeros_like(self.mean) if self._total is None else self._total
        both = torch.stack([total, torch.zeros_like(total) + self._count])
        torch.distributed.all_reduce(both, group=group)
        self._total, self._count = both[0], both[1]
        self._average(self._memory())

    def _average(self, memory: Memory) -> Tensor:
        """Keep what an update needs of the errors collected, and return the tilt of their mean."""
        assert self._total is not None
        errors = self._total if type(self._count) is int and self._count == 1 else self._total / self._count
        mean, present = self.rule.average(torch, memory, errors)
        tilt = self._tilt(mean)
        self._seen = errors, mean, present, tilt
        return tilt

    def _tilt(self, mean: Tensor) -> Tensor:
        tilt: Tensor = self.rule.tilt(torch, mean, self.alpha)
        return tilt

    def _check(self) -> None:
        """Warn, once each, where noise biases the result or a limit of sigma holds it back."""
        rule, alpha = self.rule, self.alpha
        tolerance = alpha if rule.tolerance is None else rule.tolerance
        worst = 0.0 if rule.auto else float((self.bias.abs() / tolerance).max())
        if worst > 1.0:
            self._warn(
                "bias",
                f"noise in the errors is expected to leave {worst:.2g} times the tolerated error; use a "
                'larger alpha (or alpha="auto"), a decay nearer to 1, larger batches or rule="bounded".',
            )
        if rule.operator == "=":
            return
        broken = self.violation > tolerance
        for limit, name in ((rule.log_min, "sigma_min"), (rule.log_max, "sigma_max")):
            if bool((broken & ((self.log_sigma - limit).abs() < rule.eta)).any()):
                self._warn(
                    name,
                    f"sigma sits at {name}={math.exp(limit):.3g} while a constraint is violated: "
                    "the limit may be too tight, or no model satisfies the constraint.",
                )

    def _warn(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(f"AdaptivePenalty: {message}", stacklevel=4)
