"""The peers: one function per solver, from a problem to a point, and the registry of them.

Each solver gets exact first derivatives (those marked ``order=2`` also exact Hessians, ``order=0`` none) and
a tolerance of about 1e-8. It returns what it believes; whether that is true is the judge's business.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..answer import Answer
from ..problems import Problem

OURS = "softpenalty"


@dataclass(frozen=True)
class Peer:
    """A solver as the benchmark knows it.

    Attributes
    ----------
    label
        Name in tables and figures.
    package
        What must be installed.
    module, function
        Where the solve function lives in this folder.
    order
        0: function values only; 1: first derivatives; 2: exact Hessians too.
    settings
        What is not default, for the results page; a change makes old records stale.
    main
        Part of the short benchmark.
    """

    label: str
    package: str
    module: str
    function: str
    order: int
    settings: str
    main: bool = False

    @property
    def solve(self) -> Callable[[Problem], Answer]:
        """The solve function; its package is imported now."""
        return getattr(importlib.import_module(f".{self.module}", __package__), self.function)

    @property
    def missing(self) -> str | None:
        """Why the solver cannot run, if it cannot."""
        if importlib.util.find_spec(self.package) is None:
            return f"package {self.package} is not installed"
        if self.package == OURS:
            try:
                importlib.import_module(OURS).minimize  # noqa: B018
            except (AttributeError, ImportError) as error:
                return f"softpenalty.minimize cannot be imported ({error})"
        return None

    @property
    def version(self) -> str:
        """Version of the package, for ours with a digest of its sources, and the settings."""
        version = importlib.metadata.version(self.package)
        if self.package == OURS:
            version += "+" + digest(Path(importlib.import_module(OURS).__file__).parent)
        return f"{version}; {self.settings}"


def digest(home: Path) -> str:
    """Eight digits that change with what `minimize` is made of, wherever below `home` it stands."""
    files = sorted(file for part in ("formulas", "problem", "solve") for file in (home / part).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


PEERS = {
    "softpenalty": Peer("softpenalty", OURS, "ours", "solve", 1, "defaults", True),
    "softpenalty-exact": Peer("softpenalty, exact Hessian", OURS, "ours", "solve_exact", 2, "defaults", True),
    "softpenalty-multiplier": Peer(
        'softpenalty "multiplier"', OURS, "ours", "solve_multiplier", 1, 'method="multiplier"'
    ),
    "softpenalty-penalty": Peer(
        'softpenalty "penalty"', OURS, "ours", "solve_penalty", 1, 'method="penalty"'
    ),
    "slsqp": Peer("SciPy SLSQP", "scipy", "scipy_solvers", "slsqp", 1, "ftol 1e-10, maxiter 1000", True),
    "slsqp-default": Peer(
        "SciPy SLSQP, default ftol", "scipy", "scipy_solvers", "slsqp_default", 1, "ftol 1e-6"
    ),
    "trust-constr": Peer(
        "SciPy trust-constr", "scipy", "scipy_solvers", "trust_constr", 1, "BFGS, gtol 1e-8, xtol 1e-10"
    ),
    "cobyqa": Peer(
        "SciPy COBYQA", "scipy", "scipy_solvers", "cobyqa", 0, "final radius 1e-8, feasibility 1e-8"
    ),
    "cobyla": Peer("SciPy COBYLA", "scipy", "scipy_solvers", "cobyla", 0, "tol 1e-8, catol 1e-8"),
    "nlopt-slsqp": Peer("NLopt SLSQP", "nlopt", "nlopt_solvers", "slsqp", 1, "ftol 1e-10, rows 1e-8", True),
    "nlopt-auglag": Peer(
        "NLopt AUGLAG + LBFGS", "nlopt", "nlopt_solvers", "auglag", 1, "ftol 1e-10, rows 1e-8"
    ),
    "ipopt": Peer(
        "IPOPT limited memory", "casadi", "ipopt", "solve", 1, "tol 1e-8, bound_relax_factor 0", True
    ),
    "ipopt-exact": Peer(
        "IPOPT exact Hessian", "casadi", "ipopt", "solve_exact", 2, "tol 1e-8, bound_relax_factor 0", True
    ),
    "uno": Peer("Uno filterSQP", "unopy", "uno", "solve", 2, "primal and dual tolerance 1e-8", True),
    "courant-beltrami": Peer(
        "Courant-Beltrami + BFGS", "scipy", "homemade", "courant_beltrami", 1, "sigma 1 to 1e9 by tens"
    ),
    "augmented": Peer(
        "augmented Lagrangian + L-BFGS-B", "scipy", "homemade", "augmented_lagrangian", 1, "textbook"
    ),
}
