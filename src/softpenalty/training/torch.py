"""Penalties for PyTorch: stateless ones, and one whose weights find themselves while training.

con = AdaptivePenalty(1, alpha=0.02)
loss = objective + con(errors)
loss.backward(); optimizer.step(); con.update()
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..extras import install_hint
from ..formulas.arrays import namespace
from ..formulas.combinations import Combination
from ..formulas.kernels import Kernel
from .rule import Memory, evaluate, make_rule

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

    Examples
    --------
    >>> import torch
    >>> error = torch.zeros(2, requires_grad=True)
    >>> total = penalty(error, sigma=3.0, alpha=0.1)
    >>> round(total.item(), 6)                              # sigma·alpha each
    0.6
    >>> total.backward()
    >>> error.grad                                          # sigma/2 each
    tensor([1.5000, 1.5000])
    """
    errors = torch.atleast_1d(error)
    total: Tensor = evaluate("penalty", errors, sigma, alpha, operator, kernel, combination)[0]
    return total


def multiplier(
    error: Tensor,
    sigma: float | Tensor = 1.0,
    alpha: float | Tensor = 0.1,
    operator: str = "<",
    kernel: str | Kernel = "softplus",
    combination: str | Combination = "sum",
) -> Tensor:
    """Return ∂penalty/∂error, shaped like `error`. Parameters are those of `penalty`.

    Examples
    --------
    >>> import torch
    >>> multiplier(torch.zeros(2), sigma=3.0, alpha=0.1)
    tensor([1.5000, 1.5000])
    """
    errors = torch.atleast_1d(error)
    found: Tensor = evaluate("multiplier", errors, sigma, alpha, operator, kernel, combination)[1]
    return found.reshape(error.shape)


def numpy_views(given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the same with NumPy arrays, which share the tensors' memory; None where that cannot be.

    A step takes many sums of few numbers, and on the CPU a call of NumPy a fraction of PyTorch's time.
    """
    if torch.compiler.is_compiling() or not given[0].is_cpu:
        return None
    try:
        return tuple([item.numpy() if isinstance(item, Tensor) else item for item in given])
    except (RuntimeError, TypeError):  # within a transform of `torch.func`; a type that NumPy does not have
        return None


class Batches:
    """What was seen since the last update. Not in the module itself, whose attributes are slow to set."""

    def __init__(self) -> None:
        self.updates = 0  # so far
        self.total: Tensor | None = None  # errors, summed over micro-batches
        self.count: int | Tensor = 0
        self.step: dict[str, Tensor] = {}  # the buffers that an update would change, after it


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
        Of the moving average of the error: 0 for full batches, about 1 − eta under noise.
    rule : {"bounded", "log"}
        "bounded" as a rule; "log", for full batches only, decays faster.
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
        for name in ("shift", "mean", "spread", "times"):
            self.register_buffer(name, torch.zeros(n))
        self._alpha = float(alpha) if isinstance(alpha, (int, float)) else None
        width = alpha.detach().clone().to(start.dtype).expand(n) if isinstance(alpha, Tensor) else None
        self.register_buffer("_alphas", width, persistent=False)
        self._batches = Batches()
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
        if self.training:
            weights = self._collect(errors if exact is None else self._shaped("exact", exact), mask)
        else:
            weights = self.multiplier
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
        batches = self._batches
        if not batches.step:
            return
        self._buffers.update(batches.step)
        batches.total, batches.count, batches.step = None, 0, {}
        batches.updates += 1
        if batches.updates % CHECK == 0:
            self._check()

    @property
    def multiplier(self) -> Tensor:
        """The weights (n,): ≥ 0 for ``<``, ≤ 0 for ``>``."""
        tilt = self.rule.tilt(torch, self.mean, self.alpha)
        weights: Tensor = self.rule.weight(torch, self._memory(), tilt)
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

    def _collect(self, errors: Tensor, mask: Tensor | None) -> Tensor:
        """Add a micro-batch, and return the weights with the mean error that an update now would leave."""
        errors = errors.detach()
        dtype = self._buffers["mean"].dtype
        if errors.dtype is not dtype:
            errors = errors.to(dtype)
        seen: int | Tensor = 1
        if mask is not None:
            errors, seen = torch.where(mask, errors, 0.0), mask.to(dtype)
        batches = self._batches
        batches.total = errors if batches.total is None else batches.total + errors
        batches.count = batches.count + seen
        return self._average()

    def _all_reduce(self, group: Any) -> None:
        """Sum what all processes have collected; a process may have seen nothing."""
        batches = self._batches
        total = torch.zeros_like(self.mean) if batches.total is None else batches.total
        both = torch.stack([total, torch.zeros_like(total) + batches.count])
        torch.distributed.all_reduce(both, group=group)
        batches.total, batches.count = both[0], both[1]
        self._average()

    def _average(self) -> Tensor:
        """Prepare an update with the errors collected, and return the weights with their mean."""
        batches, rule = self._batches, self.rule
        assert batches.total is not None
        single = type(batches.count) is int and batches.count == 1
        errors = batches.total if single else batches.total / batches.count
        given = errors, self._alpha or self._alphas, *self._memory()
        views = numpy_views(given)
        if views is None:
            weights, later = rule.step(torch, *given)
            batches.step = later._asdict()
            return weights
        with np.errstate(over="ignore", invalid="ignore"):  # an error beyond all bounds counts as absent
            weights, later = rule.step(np, *views)
        batches.step = {
            name: torch.from_numpy(new)
            for name, old, new in zip(Memory._fields, views[2:], later, strict=True)
            if new is not old  # a view made a tensor would hold on to the tensor it is of, step after step
        }
        return torch.from_numpy(weights)

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
