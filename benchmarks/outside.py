"""An outside judge: optiprofiler's own benchmark, where no solver gets derivatives.

Its score averages history-based performance profiles over tolerances 1e-1 ... 1e-10; function values are all
it counts, so a solver that differences its derivatives pays n evaluations for each gradient.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize

from .peers import PEERS
from .problems import HOCK_SCHITTKOWSKI

FEATURES = {"plain": {}, "noisy": {"noise_level": 1e-3, "n_runs": 2}}
EVALUATIONS_PER_VARIABLE = 100
LARGEST = 10  # variables
# One evaluation takes 7 to 54 ms in S2MPJ's Python; left out for that cost alone.
SLOW = {"HS67", "HS85", "HS88", "HS89", "HS90", "HS91", "HS92", "HS105"}
FILE = "outside.json"


def _once(function: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    """Evaluate equal consecutive points once, as `problems.Problem` does for all solvers."""
    seen: list[Any] = [None, None]

    def remembered(x: np.ndarray) -> Any:
        if seen[0] != x.tobytes():
            seen[:] = x.tobytes(), function(x)
        return seen[1]

    return remembered


def _solver(call: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """A solver as optiprofiler calls it: with the arguments a problem's kind has, and no others."""

    def solve(
        fun, x0, xl=-np.inf, xu=np.inf, aub=None, bub=(), aeq=None, beq=(), cub=None, ceq=None
    ) -> np.ndarray:
        constraints: list[LinearConstraint | NonlinearConstraint] = []
        if len(bub):
            constraints.append(LinearConstraint(aub, -np.inf, bub))
        if len(beq):
            constraints.append(LinearConstraint(aeq, beq, beq))
        for function, lower in ((cub, -np.inf), (ceq, 0.0)):
            if function is not None:
                function = _once(function)
                if len(function(x0)):
                    constraints.append(NonlinearConstraint(function, lower, 0.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(_once(fun), x0, bounds=Bounds(xl, xu), constraints=constraints).x

    return solve


def _ours(noisy: bool) -> Callable[..., Any]:
    """`minimize`; told of noise, it uses the whole budget, which histories are judged by."""

    def call(fun: Callable[..., float], x0: np.ndarray, **keywords: Any) -> Any:
        import softpenalty

        if noisy:
            keywords |= {"noise": "auto", "exhaust": True, "maxfev": EVALUATIONS_PER_VARIABLE * len(x0)}
        return softpenalty.minimize(fun, x0, **keywords)

    return call


def _scipy(method: str, **options: Any) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        return minimize(*arguments, method=method, options=options, **keywords)

    return call


def solvers(noisy: bool = False) -> dict[str, Callable[..., np.ndarray]]:
    """The solvers compared, ours only when it exists."""
    most = LARGEST * EVALUATIONS_PER_VARIABLE
    found = {} if PEERS["softpenalty"].missing else {"softpenalty": _solver(_ours(noisy))}
    return found | {
        "SLSQP": _solver(_scipy("SLSQP", maxiter=most)),
        "COBYLA": _solver(_scipy("COBYLA", maxiter=most)),
        "COBYQA": _solver(_scipy("COBYQA", maxfev=most)),
    }


def run(folder: Path, console: Console) -> None:
    """Run every feature not yet on file for these versions, and write the scores."""
    import optiprofiler

    path = folder / FILE
    chosen = solvers()
    versions = {name: PEERS[name.lower()].version.partition(";")[0] for name in chosen}
    versions["optiprofiler"] = optiprofiler.__version__
    old = json.loads(path.read_text()) if path.exists() else {}
    scores = old.get("scores", {}) if old.get("versions") == versions else {}
    for feature, options in FEATURES.items():
        if feature in scores:
            continue
        console.print(f"optiprofiler's benchmark, {feature} feature: this takes some minutes ...")
        silence = io.StringIO()
        with (
            tempfile.TemporaryDirectory() as scratch,
            contextlib.redirect_stdout(silence),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            result, *_ = optiprofiler.benchmark(
                list(solvers(feature == "noisy").values()),
                solver_names=list(chosen),
                feature_name=feature,
                plibs=["s2mpj"],
                ptype="bln",
                problem_names=[name for name in HOCK_SCHITTKOWSKI if name not in SLOW],
                maxdim=LARGEST,
                max_eval_factor=EVALUATIONS_PER_VARIABLE,
                n_jobs=1,
                score_only=True,
                silent=True,
                solver_verbose=0,
                savepath=scratch,
                **options,
            )
        scores[feature] = dict(zip(chosen, map(float, result), strict=True))
        settings = (
            f"optiprofiler {optiprofiler.__version__} on the Hock-Schittkowski problems of at most {LARGEST}"
            f" variables, without {len(SLOW)} that are slow to evaluate ({', '.join(sorted(SLOW))}),"
            f" {EVALUATIONS_PER_VARIABLE} evaluations per variable, no derivatives given, default settings;"
            f" noisy: {FEATURES['noisy']['n_runs']} runs with mixed absolute and relative noise of"
            f' {FEATURES["noisy"]["noise_level"]:g} in every value, ours with `noise="auto", exhaust=True`.'
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"settings": settings, "versions": versions, "scores": scores}, indent=1))
