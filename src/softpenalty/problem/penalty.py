"""`penalize`: objective and constraints as one function that any optimizer can minimize."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..formulas.combinations import Combination, find_combination
from ..formulas.kernels import Kernel, find_kernel
from ..formulas.penalty import penalty_and_multipliers
from ..formulas.prediction import Recommendation
from ..types import Array
from .assessment import recommend, report
from .canonical import Rows, stack_rows
from .constraint import check_alpha, check_sigma, numbers
from .evaluation import Evaluation
from .scipy_forms import keeps_feasible, read_bounds, read_constraints, warn_not_kept
from .steps import read_steps

__all__ = ["Penalty", "penalize"]


def penalize(
    fun: Callable[..., Any],
    constraints: Any = (),
    *,
    bounds: Any = None,
    kernel: str | Kernel = "softplus",
    combination: str | Combination = "sum",
    sigma: ArrayLike | None = None,
    alpha: ArrayLike | None = None,
    add_quadratic: float = 0.0,
    jac: Any = None,
    args: tuple[Any, ...] = (),
    vectorized: bool = False,
    finite_diff_rel_step: ArrayLike | None = None,
    eps: ArrayLike | None = None,
) -> Penalty:
    """Return objective + penalty as an object that any optimizer can call.

    Parameters
    ----------
    fun : callable
        The objective, ``fun(x, *args)``.
    constraints : constraint or sequence of constraints
        `softpenalty.Constraint`, SciPy's `LinearConstraint`, `NonlinearConstraint` and dicts, mixed freely.
    bounds : scipy.optimize.Bounds or sequence of (low, high), optional
        Penalized like every other constraint. Differences of `fun` and of the constraints do not cross them.
    kernel : {"softplus", "algebraic", "quadratic", "linear", "huber"}
    combination : {"sum", "norm"}
    sigma, alpha : float
        Weight (units objective/error) and corner width (units of the error) of the constraints that have
        none of their own. `softpenalty.recommend` finds both from a gradient and a wanted error.
    add_quadratic : float
        Weight of a Courant-Beltrami penalty added to the smooth one, Σ violation²: it keeps its hold where
        constraints meet at acute angles or where sigma turns out too small.
    jac : callable, True, {"2-point", "3-point", "cs"} or None
        Gradient of the objective; True where `fun` returns (objective, gradient). Missing derivatives of the
        objective and of the constraints are differenced; the penalty never is, since its slope is known.
    args : tuple
        More arguments of `fun` and `jac`.
    vectorized : bool
        Whether `fun` and the constraints take whole populations x of shape (n, S) and return (S,) and
        (k, S). Then ``p(x)`` does so too.
    finite_diff_rel_step, eps : float or array (n,), optional
        Steps of differences of the objective and the constraints, relative to x or absolute, as for
        `minimize`.

    Returns
    -------
    Penalty

    Examples
    --------
    >>> from scipy.optimize import minimize
    >>> from softpenalty import Constraint, penalize
    >>> area = Constraint(lambda x: x[0] * x[1], ">", 25.0)
    >>> p = penalize(lambda x: x[0] + x[1], area, sigma=0.4, alpha=0.1)
    >>> result = minimize(p, [9.0, 9.0], jac=p.gradient)
    >>> result.x.round(3)
    array([5., 5.])
    """
    read_bounds("penalize", bounds)  # complain now; the number of variables is known at the first point
    if keeps_feasible(bounds):
        warn_not_kept("`penalize(bounds=...)`: keep_feasible=True", stacklevel=3)
    return Penalty(
        Evaluation(
            "penalize",
            fun,
            read_constraints("penalize", constraints),
            jac=jac,
            args=args,
            steps=read_steps("penalize", finite_diff_rel_step, eps),
        ),
        kernel=find_kernel("penalize", kernel),
        combination=find_combination("penalize", combination),
        sigma=None if sigma is None else check_sigma("penalize", sigma),
        alpha=None if alpha is None else check_alpha("penalize", alpha),
        add_quadratic=float(check_sigma("penalize", add_quadratic, "add_quadratic")),
        bounds=bounds,
        vectorized=vectorized,
    )


class Penalty:
    """Objective + penalty, made by `penalize`.

    All arrays over constraints have one entry a row: a two-sided constraint has two, and the bounds follow
    the constraints. `labels` says which row is which. Value and gradient at one point call the user's
    functions once.

    Examples
    --------
    >>> from softpenalty import Constraint, penalize
    >>> wall = Constraint(lambda x: x[0], "<", 1.0, name="wall")
    >>> p = penalize(lambda x: (x[0] - 2.0) ** 2, wall, sigma=4.0, alpha=0.1)
    >>> p([1.0]), p.objective([1.0]), p.penalty([1.0])
    (1.4, 1.0, 0.4)
    >>> p.errors([1.5]), p.violations([1.5]), p.labels
    (array([0.5]), array([0.5]), ['wall < 1'])
    >>> p.gradient([1.0]).round(6) + 0.0, p.multipliers([1.0])     # balanced: sigma is twice the multiplier
    (array([0.]), array([2.]))
    >>> p.replace(sigma=8.0).multipliers([1.0])
    array([4.])
    """

    def __init__(
        self,
        evaluation: Evaluation,
        *,
        kernel: Kernel,
        combination: Combination,
        sigma: Array | None,
        alpha: Array | None,
        add_quadratic: float = 0.0,
        bounds: Any = None,
        vectorized: bool = False,
    ) -> None:
        self.evaluation = evaluation
        self.kernel = kernel
        self.combination = combination
        self._common = {"sigma": sigma, "alpha": alpha if kernel.has_width else np.ones(())}
        self._sigma = self._alpha = np.zeros(0)  # of every row, from the first evaluation on
        self.shift: Any = None  #: what is added to every row's multiplier, see `replace`
        self.add_quadratic = add_quadratic
        self.vectorized = vectorized
        self._bounds = bounds
        self._rows: Rows | None = None

    def __call__(self, x: ArrayLike) -> Any:
        """Return objective + penalty at x (n,): a float; (S,) for x (n, S) where vectorized."""
        objective, errors = self._measure(x)
        return objective + self._combine(errors)[0]

    def gradient(self, x: ArrayLike) -> Array:
        """Return ∇objective + Jᵀ·multipliers at x, (n,)."""
        return self.value_and_gradient(x)[1]

    def value_and_gradient(self, x: ArrayLike) -> tuple[float, Array]:
        """Return objective + penalty and its gradient at x."""
        point = self._one_point("gradient", x)
        objective, errors = self._measure(point)
        gradient, jacobian = self.evaluation.derivatives(point)
        k = jacobian.shape[0]
        penalty, multipliers = self._combine(errors)
        weights = self.rows.pull_back(multipliers, k + point.size)
        return objective + penalty, gradient + jacobian.T @ weights[:k] + weights[k:]

    def objective(self, x: ArrayLike) -> Any:
        """Return the objective alone."""
        return self._measure(x)[0]

    def errors(self, x: ArrayLike) -> Array:
        """Return value − target of every row, signed."""
        return self._measure(x)[1]

    def violations(self, x: ArrayLike) -> Array:
        """Return how far every row is broken, ≥ 0."""
        errors = self._measure(x)[1]
        return self.rows.violations(errors)

    def multipliers(self, x: ArrayLike) -> Array:
        """Return ∂penalty/∂error of every row: ≥ 0 for ``<``, ≤ 0 for ``>``."""
        return self._combine(self._measure(x)[1])[1]

    def penalty(self, x: ArrayLike) -> Any:
        """Return the penalty alone."""
        return self._combine(self._measure(x)[1])[0]

    def report(self, x: ArrayLike, tolerance: ArrayLike | None = None) -> str:
        """Return a table of all rows at x and what is wrong with them: saturated, too far off, no minimum.

        Derivatives at x are needed for it.

        Parameters
        ----------
        x : array (n,)
            Where an optimizer found the minimum.
        tolerance : float or array (m,), optional
            Errors up to this are accepted; up to what `softpenalty.recommend` promises for alpha by default.
        """
        return report(self, self._one_point("report", x), tolerance)

    def recommend(self, x: ArrayLike, tolerance: ArrayLike, factor: float = 1.5) -> Recommendation:
        """Return the next sigma and alpha of every row, from the multipliers found at x.

        Parameters
        ----------
        x : array (n,)
            Where an optimizer found the minimum.
        tolerance : float or array (m,)
            Wanted size of the error.
        factor : float
            How well the multipliers are known now, as for `softpenalty.recommend`.

        Returns
        -------
        Recommendation
            ``sigma``, ``alpha`` and the ``error`` they leave, (m,) each, for `replace`. A row that the
            penalty does not hold keeps its sigma; a saturated one gets what the gradients ask for, at least
            twice as much as it has. With the norm, errors are those of one row by itself.

        Examples
        --------
        >>> from scipy.optimize import minimize
        >>> from softpenalty import Constraint, penalize
        >>> area = Constraint(lambda x: x[0] * x[1], ">", 25.0)
        >>> p = penalize(lambda x: x[0] + x[1], area, sigma=5.0, alpha=0.1)    # a guess
        >>> x = minimize(p, [9.0, 9.0], jac=p.gradient).x
        >>> next = p.recommend(x, tolerance=1e-3)                              # the multiplier is 0.2
        >>> next.sigma.round(2), next.alpha.round(5)
        (array([0.43]), array([0.00085]))
        >>> p = p.replace(sigma=next.sigma, alpha=next.alpha)
        >>> x = minimize(p, x, jac=p.gradient).x
        >>> bool(abs(p.errors(x)[0]) < 1e-3)
        True
        """
        return recommend(self, self._one_point("recommend", x), tolerance, factor)

    def replace(
        self,
        *,
        sigma: ArrayLike | None = None,
        alpha: ArrayLike | None = None,
        shift: ArrayLike | None = None,
    ) -> Penalty:
        """Return the same penalty with other parameters, sharing the evaluations made so far.

        Parameters
        ----------
        sigma : float or array (m,), optional
            Weight of each row.
        alpha : float or array (m,), optional
            Corner width of each row.
        shift : float or array (m,), optional
            Added to the multiplier of each row at every error: with it, an equality's saturations are
            sigma + shift above and sigma − shift below.
        """
        other = copy.copy(self)
        if sigma is not None:
            other._sigma = self._per_row("sigma", check_sigma("Penalty.replace", sigma))
        if alpha is not None:
            other._alpha = self._per_row("alpha", check_alpha("Penalty.replace", alpha))
        if shift is not None:
            other.shift = self._per_row("shift", numbers("Penalty.replace", "shift", shift))
        return other

    @property
    def rows(self) -> Rows:
        """The constraints as rows; known after the first evaluation."""
        if self._rows is None:
            raise ValueError(
                "`Penalty.rows` is known after the first evaluation: call the penalty at some x first."
            )
        return self._rows

    @property
    def sigma(self) -> Array:
        """Weight of every row (m,); known after the first evaluation."""
        return self._sigma if len(self.rows) else np.zeros(0)

    @property
    def alpha(self) -> Array:
        """Corner width of every row (m,); known after the first evaluation."""
        return self._alpha if len(self.rows) else np.zeros(0)

    @property
    def labels(self) -> list[str]:
        """Name and comparison of every row."""
        return self.rows.labels

    def _point(self, x: ArrayLike) -> Array:
        try:
            if np.iscomplexobj(x):
                raise TypeError
            point: Array = np.asarray(x, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"`Penalty(x)` takes real numbers; got {x!r}.") from None
        if point.ndim != 1 and not (self.vectorized and point.ndim == 2):
            raise ValueError(
                f"`Penalty(x)` takes one point (n,){' or a population (n, S)' if self.vectorized else ''}; "
                f"got shape {point.shape}."
            )
        if len(point) == 0:
            raise ValueError("`Penalty(x)` takes one variable at least; got none.")
        if np.isnan(point).any():
            raise ValueError(f"`Penalty(x)` must not contain NaN; got {point!r}.")
        return point

    def _one_point(self, call: str, x: ArrayLike) -> Array:
        point = self._point(x)
        if point.ndim == 2:
            raise ValueError(f"`Penalty.{call}(x)` takes one point (n,); got shape {point.shape}.")
        return point

    def _measure(self, x: ArrayLike) -> tuple[Any, Array]:
        """Return the objective and the errors of all rows at x."""
        point = self._point(x)
        if self._rows is None:
            self.evaluation.bounds = read_bounds("penalize", self._bounds, len(point))
        measure: Any = self.evaluation.population if point.ndim == 2 else self.evaluation.values
        objective, values = measure(point)
        if self._rows is None:
            self._settle()
        return objective, self.rows.errors(np.concatenate([values, point]))

    def _settle(self) -> None:
        """Stack the rows, now that the number of values is known, and give each its sigma and alpha."""
        rows = stack_rows(
            "penalize", self.evaluation.blocks, self.evaluation.sizes or [], self.evaluation.bounds
        )
        self._rows = rows
        self._sigma = self._or_own("sigma", rows.sigma)
        self._alpha = self._or_own("alpha", rows.alpha)

    def _or_own(self, argument: str, own: Array) -> Array:
        """Return the constraints' own parameters, and the common one where they have none."""
        common = self._common[argument]
        missing = np.isnan(own)
        if common is None and missing.any():
            label = self.labels[int(np.flatnonzero(missing)[0])]
            raise ValueError(
                f"`penalize({argument}=...)` is missing: {label!r} has no {argument} of its own. "
                "`softpenalty.recommend(gradient, tolerance)` computes sigma and alpha."
            )
        return own if common is None else np.where(missing, self._per_row(argument, common), own)

    def _per_row(self, argument: str, value: Any) -> Array:
        m = len(self.rows)
        try:
            return np.broadcast_to(np.asarray(value, dtype=float), (m,))
        except ValueError:
            raise ValueError(
                f"`penalize({argument}=...)` must be one number or one for each of the {m} rows; "
                f"got shape {np.shape(value)}."
            ) from None

    def _combine(self, errors: Array) -> tuple[Any, Array]:
        """Return the penalty and the multipliers of all rows."""
        rows = self.rows
        penalty, multipliers = penalty_and_multipliers(
            errors,
            rows.sign,
            rows.equality,
            self._sigma,
            self._alpha,
            self.shift,
            self.kernel,
            self.combination,
        )
        if self.add_quadratic:
            broken = rows.signed_violations(errors)
            penalty = penalty + self.add_quadratic * (broken * broken).sum(axis=0)
            multipliers = multipliers + 2.0 * self.add_quadratic * broken
        return (float(penalty) if errors.ndim == 1 else penalty), multipliers
