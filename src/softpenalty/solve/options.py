"""The options of `minimize`, checked once."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.optimize import OptimizeWarning

from ..formulas.combinations import find_combination
from ..formulas.kernels import find_kernel
from ..problem.constraint import check_alpha, check_sigma

__all__ = ["Options", "check_positive"]

ITERATIONS, ITERATIONS_PER_VARIABLE = 300, 10  # allowed where nothing is said: the larger of the two
LARGEST = float(np.finfo(float).max)  # whole numbers can be larger
ARGUMENTS = (
    "fun", "x0", "args", "method", "jac", "hess", "hessp", "bounds", "constraints", "tol", "callback",
    "options", "names",
)  # fmt: skip
# Options of SciPy's own methods: to come across one is no mistake, only in vain.
SCIPY_OPTIONS = {
    "accuracy", "adaptive", "barrier_tol", "c1", "c2", "catol", "direc", "eta", "f_target",
    "factorization_method", "fatol", "feasibility_tol", "final_tr_radius", "ftol",
    "gtol", "hess_inv0", "inexact", "initial_barrier_parameter", "initial_barrier_tolerance",
    "initial_constr_penalty", "initial_simplex", "initial_tr_radius", "initial_trust_radius", "iprint",
    "maxCGit", "max_trust_radius", "maxcor", "maxfun", "maxls", "mesg_num", "minfev", "norm", "offset",
    "rescale", "return_all", "rhobeg", "scale", "sparse_jacobian", "stepmx", "subproblem",
    "subproblem_maxiter", "verbose", "xatol", "xrtol", "xtol",
}  # fmt: skip


@dataclass(frozen=True)
class Options:
    """The options of `minimize`.

    Attributes
    ----------
    maxiter
        iterations (of all inner solves together for "multiplier"); 300, or 10 times the number of variables
        where that is more, unless given
    maxfev
        points at which the functions may be evaluated
    max_time
        seconds
    constraint_tol
        allowed violation, relative to the larger of 1 and the target's size; `tol` is for stationarity
    disp
        write the message to standard output at the end
    noise
        relative noise of the functions: a number, a dict from "objective" and names of constraints to
        numbers, or "auto" to find it out from a few points; the method is then "noisy"
    evaluations
        `result.evaluations` of an earlier run, whose points are then known for `noise`
    exhaust
        go on at the noise floor until `maxfev` or another limit is reached
    on_failure
        "backtrack" steps back from points at which a function raises an exception, is not finite or
        gives no answer in time; "raise" passes the exception on
    evaluation_timeout
        seconds that objective and constraints may take at one point; they are then called in
        another process, which is ended where it takes longer
    workers
        how the points of differences are evaluated at once: a number of processes, or anything with a
        map over points (`multiprocessing.Pool`, an executor, a Dask client, a map-like function)
    checkpoint
        path of a file, or of a folder, that keeps everything the functions have answered
    resume
        go on from the checkpoint if there is one, without evaluating anything twice
    progress
        show on standard error how it goes
    check_gradients
        compare the derivatives given with differences at the start, and warn of what looks odd
    finite_diff_rel_step, eps
        steps of differences that are not left to us, one number or one a variable,
        for the objective and for all constraints without a step of their own: relative to x (to 1 where x
        is 0), or absolute where only `eps` is given; shortened where bounds are in the way
    kernel, combination, sigma, alpha
        the penalty of the methods "penalty" and "multiplier"
    tol
        the argument of that name

    Examples
    --------
    >>> from softpenalty import Options, minimize
    >>> result = minimize(lambda x: (x[0] - 1.0) ** 4, [3.0], options={"maxfev": 6})     # or maxfev=6
    >>> result.nfev, result.status
    (6, 2)
    >>> Options(maxiter=50).iterations(4), Options().iterations(4), Options().iterations(500)
    (50, 300, 5000)
    """

    maxiter: int | None = None
    maxfev: float = np.inf
    max_time: float = np.inf
    constraint_tol: float | None = None
    disp: bool = False
    noise: Any = None
    evaluations: Any = None
    exhaust: bool = False
    on_failure: str = "backtrack"
    evaluation_timeout: float = np.inf
    workers: Any = 1
    checkpoint: Any = None
    resume: bool = False
    progress: bool = False
    check_gradients: bool = False
    finite_diff_rel_step: Any = None
    eps: Any = None
    kernel: Any = None
    combination: Any = "sum"
    sigma: Any = None
    alpha: Any = None
    tol: float | None = None

    def iterations(self, n: int) -> int:
        """How many iterations are allowed for n variables."""
        return max(ITERATIONS, ITERATIONS_PER_VARIABLE * n) if self.maxiter is None else self.maxiter

    @classmethod
    def read(cls, given: Mapping[str, Any], keywords: dict[str, Any], tol: float | None = None) -> Options:
        """The options given in the dict and as keywords, and the argument `tol`, checked.

        Unknown ones get a warning, as from SciPy; a keyword that is not known there either is taken for a
        misspelt argument.
        """
        if not isinstance(given, (dict, Mapping)):
            raise TypeError(f"`minimize(options=...)` must be a dict; got {given!r}.")
        if tol is not None:
            check_positive("tol=...", tol, finite=True)
        if not given and not keywords:
            return DEFAULTS if tol is None else cls(tol=tol)
        known = OPTIONS
        for name in keywords:
            if name not in known and name not in SCIPY_OPTIONS:
                raise TypeError(_not_an_argument(name, [*ARGUMENTS, *sorted(known)]))
        given = {**given, **keywords}
        unknown = sorted(set(given) - known)
        if unknown:
            warnings.warn(
                f"`minimize` does not know the option(s) {', '.join(map(repr, unknown))}, which are ignored; "
                f"it knows {', '.join(map(repr, sorted(known)))} and the argument `tol`.",
                OptimizeWarning,
                stacklevel=3,
            )
        options = cls(**{name: given[name] for name in given if name in known}, tol=tol)
        for name in ("maxiter", "maxfev", "max_time", "evaluation_timeout"):
            if name != "maxiter" or options.maxiter is not None:
                check_positive(f"options={{{name!r}: ...}}", getattr(options, name))
        if options.on_failure not in ("backtrack", "raise"):
            raise ValueError(
                f"`minimize(on_failure=...)` must be 'backtrack' or 'raise'; got {options.on_failure!r}."
            )
        _check_noise(options.noise)
        if isinstance(options.workers, (int, float, np.number)):
            check_positive("workers=...", options.workers, finite=True)
        elif np.isfinite(options.evaluation_timeout):
            raise ValueError(
                "`minimize(evaluation_timeout=...)` needs processes of its own: give `workers` as a number; "
                f"got {options.workers!r}."
            )
        if options.resume and options.checkpoint is None:
            raise ValueError("`minimize(resume=True)` needs `checkpoint=...`, the file to go on from.")
        if options.constraint_tol is not None:
            check_positive("options={'constraint_tol': ...}", options.constraint_tol, finite=True)
        if options.kernel is not None:
            find_kernel("minimize", options.kernel)
        find_combination("minimize", options.combination)
        if options.sigma is not None:
            check_sigma("minimize", options.sigma)
        if options.alpha is not None:
            check_alpha("minimize", options.alpha)
        return options


DEFAULTS = Options()
OPTIONS = {field.name for field in fields(Options)} - {"tol"}  # `tol` is an argument


def _check_noise(noise: Any) -> None:
    """Raise ValueError unless `noise` is a relative level, levels by name, "auto" or None."""
    levels = list(noise.values()) if isinstance(noise, Mapping) else [noise]
    for level in levels:
        known = level is None or (
            isinstance(level, str) and level == "auto" and not isinstance(noise, Mapping)
        )
        number = isinstance(level, (int, float, np.number)) and not isinstance(level, bool)
        if not known and not (number and 0.0 <= level < np.inf):
            raise ValueError(
                "`minimize(noise=...)` must be a number ≥ 0, a dict from names to such numbers, 'auto' or "
                f"None; got {noise!r}."
            )


def check_positive(what: str, value: Any, finite: bool = False) -> None:
    """Raise ValueError unless `value` is a positive number."""
    number = isinstance(value, (int, float, np.floating, np.integer))
    possible = number and (0 < value <= LARGEST or (value == np.inf and not finite))
    if not possible:
        kind = "positive and finite" if finite else "positive"
        raise ValueError(f"`minimize({what})` must be {kind}; got {value!r}.")


def _not_an_argument(name: str, known: list[str]) -> str:
    """What to say of a keyword that does not exist."""
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"it takes {', '.join(known)}."
    return f"`minimize` has no argument {name!r}: {hint}"
