"""The paper's two random problems with their exact solutions.

Both minimize a linear objective from a random start: inside a hypersphere ("spheres", one curved constraint)
or inside sheared hyperplanes ("planes", 2N constraints, N of them active). A problem is drawn from its own
seed, so any of them can be drawn again alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import StudyError
from . import published
from .settings import MODES

Vector = np.ndarray[Any, np.dtype[np.float64]]

KINDS = {name: number for number, name in enumerate(published.KINDS)}  # name → number in the seed

# The ranges of the draws (section 4 of the paper, and its source code).
START = (-250.0, 250.0)
GRADIENT_SIZE = (0.01, 5.0)
RADIUS = (5.0, 20.0)
PLANE_POSITION = (10.0, 25.0)
SHEAR = (-2.0, 2.0)


@dataclass(frozen=True, eq=False)
class Problem:
    """A linear objective with the constraints of one kind.

    Attributes
    ----------
    kind : {"planes", "spheres"}
        What the constraints are.
    x0, objective : (N,) arrays
        Start, and gradient of the objective.
    normals : (N, N) array
        Unit normals of the planes, one a row; empty for spheres.
    upper, lower : (N,) arrays
        −lower ≤ normals·x ≤ upper; empty for spheres.
    radius : float
        ‖x‖ ≤ radius; 0 for planes.
    """

    kind: str
    x0: Vector
    objective: Vector
    normals: Vector
    upper: Vector
    lower: Vector
    radius: float

    @property
    def dimension(self) -> int:
        """Number of variables N."""
        return self.x0.size

    @property
    def feasible(self) -> bool:
        """Whether a point satisfies all constraints: a slab is empty where its normal points backwards."""
        return bool(np.all(self.upper >= -self.lower))

    def errors(self, x: Vector) -> Vector:
        """Signed errors of the constraints at `x`: (2N,) upper then lower planes, or (1,)."""
        if self.kind == "spheres":
            return np.array([np.linalg.norm(x) - self.radius])
        along = self.normals @ x
        return np.concatenate([along - self.upper, -along - self.lower])

    def multipliers(self) -> Vector:
        """Multipliers of the constraints at the solution, ordered as `errors`."""
        if self.kind == "spheres":
            return np.array([np.linalg.norm(self.objective)])
        pull = np.linalg.solve(self.normals.T, -self.objective)
        return np.concatenate([np.maximum(pull, 0.0), np.maximum(-pull, 0.0)])

    def solution(self) -> Vector:
        """The minimizer; for planes the vertex that the linear program has.

        In the coordinates normals·x the planes are a box, so the linear program has the closed form that
        each coordinate sits at the side to which the objective pulls it. (A test compares it with HiGHS.)
        """
        if self.kind == "spheres":
            return -self.radius * self.objective / np.linalg.norm(self.objective)
        pull = np.linalg.solve(self.normals.T, -self.objective)
        return self._corner(pull > 0.0)

    def reference(self, end_points: Vector) -> Vector:
        """What the author takes for the solution of an infeasible problem.

        At the componentwise median of `end_points` (configurations, N), of each pair of planes the one with
        the larger error is active; the reference point is where the active planes meet.
        """
        errors = self.errors(np.median(end_points, axis=0))
        return self._corner(errors[: self.dimension] > errors[self.dimension :])

    def _corner(self, at_upper: np.ndarray[Any, np.dtype[np.bool_]]) -> Vector:
        sides = np.where(at_upper, self.upper, -self.lower)
        return np.asarray(np.linalg.solve(self.normals, sides), dtype=np.float64)


def draw(kind: str, dimension: int, index: int, *, seed: int, mode: str = "published") -> Problem:
    """Draw problem number `index` of a kind and dimension.

    Parameters
    ----------
    kind : {"planes", "spheres"}
        What the constraints are.
    dimension : int
        Number of variables, at least 2.
    index : int
        Number of the problem.
    seed : int
        Seed of the study.
    mode : {"published", "corrected"}
        "published" keeps infeasible problems as the author did, "corrected" draws again until feasible.

    Examples
    --------
    >>> problem = draw("spheres", 3, 0, seed=2021)
    >>> bool(np.isclose(problem.errors(problem.solution())[0], 0.0, atol=1e-12))
    True
    """
    if kind not in KINDS:
        raise StudyError(f"`draw(kind=...)` must be one of {', '.join(KINDS)}; got {kind!r}.")
    if mode not in MODES:
        raise StudyError(f"`draw(mode=...)` must be one of {', '.join(MODES)}; got {mode!r}.")
    if dimension < 2:
        raise StudyError(f"`draw(dimension=...)` must be at least 2; got {dimension!r}.")
    generator = np.random.default_rng(np.random.SeedSequence([seed, KINDS[kind], dimension, index]))
    problem = _draw_once(generator, kind, dimension)
    while mode == "corrected" and not problem.feasible:
        problem = _draw_once(generator, kind, dimension)
    return problem


def _draw_once(generator: np.random.Generator, kind: str, dimension: int) -> Problem:
    """The draws in the order of the specification."""
    x0 = generator.uniform(*START, dimension)
    size = generator.uniform(*GRADIENT_SIZE)
    direction = generator.uniform(-1.0, 1.0, dimension)
    objective = size * direction / np.linalg.norm(direction)
    if kind == "spheres":
        none = np.empty(0)
        return Problem(kind, x0, objective, np.empty((0, 0)), none, none, generator.uniform(*RADIUS))
    upper = generator.uniform(*PLANE_POSITION, dimension)
    lower = generator.uniform(*PLANE_POSITION, dimension)
    normals = np.eye(dimension)
    for _ in range(dimension // 2):
        i = generator.integers(dimension)
        j = generator.integers(dimension - 1)
        j += j >= i
        normals[:, j] += generator.uniform(*SHEAR) * normals[:, i]  # S ← S(I + k·eᵢeⱼᵀ)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    # Only the normals are sheared: plane i passes through dᵢeᵢ.
    facing = np.diag(normals)
    return Problem(kind, x0, objective, normals, facing * upper, facing * lower, 0.0)
