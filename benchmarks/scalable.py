"""Gradients that unconstrained and bound-constrained problems take, beside SLSQP's and L-BFGS-B's.

    python -m benchmarks.scalable              # the table
    python -m benchmarks.scalable --each       # and one line a problem

Three sets: classic test functions of a growing number of variables, written here from their formulas (most
are collected in Moré, Garbow & Hillstrom 1981), without bounds; the same with every other variable kept
within ½ of its start, which makes many bounds active; and the Hock-Schittkowski problems that have bounds
only. Each is solved from three starts, the usual one and two that are off by up to 10 %: at a single one a
solver may be lucky. Gradients of the functions here are exact: the formulas are analytic, so a complex step
gives them to rounding.

A solver has solved a problem when its objective is within 1e-5·max(1, |f|) of the best that any solver found.
Ratios are geometric means over the problems that both solve: of the gradients of whole solves, of the
gradients until the objective is within 1e-8·max(1, |f|) of the best, which leaves out how solvers stop, and
of the values.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import Bounds, minimize

import softpenalty

from . import problems
from .robustness import perturbed

SIZES = (2, 4, 8, 12, 20)
SOLVED, NEAR = 1e-5, 1e-8  # of the objective, relative to max(1, |f|)
HALF = 0.5  # how far the bounded variables may go from their start
COMPLEX_STEP = 1e-30
LIMIT = 2000  # iterations
SEEDS, SHARE = (None, 0, 1), 0.1  # of the starts; how far they are off the usual one

Function = Callable[[np.ndarray], np.ndarray]  # residuals: the objective is the sum of their squares


def extended_rosenbrock(x: np.ndarray) -> np.ndarray:
    """Pairs of variables, each in a curved valley of its own."""
    return np.concatenate([10.0 * (x[1::2] - x[::2] ** 2), 1.0 - x[::2]])


def chained_rosenbrock(x: np.ndarray) -> np.ndarray:
    """One valley through all variables."""
    return np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])


def cube(x: np.ndarray) -> np.ndarray:
    """Pairs of variables, each in a valley along a cube."""
    return np.concatenate([10.0 * (x[1::2] - x[::2] ** 3), 1.0 - x[::2]])


def powell_singular(x: np.ndarray) -> np.ndarray:
    """The Hessian is singular at the solution."""
    a, b, c, d = x.reshape(-1, 4).T
    parts = a + 10.0 * b, np.sqrt(5.0) * (c - d), (b - 2.0 * c) ** 2, np.sqrt(10.0) * (a - d) ** 2
    return np.concatenate(parts)


def wood(x: np.ndarray) -> np.ndarray:
    """A saddle on the way."""
    a, b, c, d = x.reshape(-1, 4).T
    valleys = 10.0 * (b - a**2), 1.0 - a, np.sqrt(90.0) * (d - c**2), 1.0 - c
    return np.concatenate([*valleys, np.sqrt(10.0) * (b + d - 2.0), np.sqrt(0.1) * (b - d)])


def beale(x: np.ndarray) -> np.ndarray:
    """Flat far away."""
    a, b = x[::2], x[1::2]
    return np.concatenate([c - a * (1.0 - b**k) for k, c in ((1, 1.5), (2, 2.25), (3, 2.625))])


def freudenstein_roth(x: np.ndarray) -> np.ndarray:
    """Two minima."""
    a, b = x[::2], x[1::2]
    return np.concatenate([-13.0 + a + ((5.0 - b) * b - 2.0) * b, -29.0 + a + ((b + 1.0) * b - 14.0) * b])


def brown_almost_linear(x: np.ndarray) -> np.ndarray:
    """All rows but one are linear."""
    return np.concatenate([x[:-1] + x.sum() - (x.size + 1.0), [x.prod() - 1.0]])


def trigonometric(x: np.ndarray) -> np.ndarray:
    """Many minima."""
    i = np.arange(1, x.size + 1)
    return x.size - np.cos(x).sum() + i * (1.0 - np.cos(x)) - np.sin(x)


def variably_dimensioned(x: np.ndarray) -> np.ndarray:
    """One direction is far steeper than the others."""
    total = np.arange(1, x.size + 1) @ (x - 1.0)
    return np.concatenate([x - 1.0, [total, total**2]])


def broyden_tridiagonal(x: np.ndarray) -> np.ndarray:
    """Each variable with its neighbours."""
    padded = np.concatenate([[0.0], x, [0.0]])
    return (3.0 - 2.0 * x) * x - padded[:-2] - 2.0 * padded[2:] + 1.0


def broyden_banded(x: np.ndarray) -> np.ndarray:
    """Each variable with five before it and one after."""
    i = np.arange(x.size)
    near = (i[None] >= i[:, None] - 5) & (i[None] <= i[:, None] + 1) & (i[None] != i[:, None])
    return x * (2.0 + 5.0 * x**2) + 1.0 - near @ (x * (1.0 + x))


def dixon_price(x: np.ndarray) -> np.ndarray:
    """A chain whose links get steeper."""
    i = np.arange(2, x.size + 1)
    return np.concatenate([[x[0] - 1.0], np.sqrt(i) * (2.0 * x[1:] ** 2 - x[:-1])])


def boundary_value(x: np.ndarray) -> np.ndarray:
    """A discretized differential equation."""
    h = 1.0 / (x.size + 1)
    t, padded = h * np.arange(1, x.size + 1), np.concatenate([[0.0], x, [0.0]])
    return 2.0 * x - padded[:-2] - padded[2:] + 0.5 * h**2 * (x + t + 1.0) ** 3


def integral_equation(x: np.ndarray) -> np.ndarray:
    """A discretized integral equation."""
    h = 1.0 / (x.size + 1)
    t = h * np.arange(1, x.size + 1)
    kernel = np.minimum(t[:, None], t) * (1.0 - np.maximum(t[:, None], t))
    return x + 0.5 * h * kernel @ (x + t + 1.0) ** 3


def penalty(x: np.ndarray) -> np.ndarray:
    """One steep direction, the others nearly flat."""
    return np.concatenate([np.sqrt(1e-5) * (x - 1.0), [x @ x - 0.25]])


def exponentials(x: np.ndarray) -> np.ndarray:
    """Strictly convex, of very different curvature from variable to variable."""
    i = np.arange(1, x.size + 1)
    return np.sqrt(i / 10.0) * (np.exp(0.5 * x) - np.exp(-x))


def quadratic(x: np.ndarray) -> np.ndarray:
    """Condition number 1e4, no axis along a variable."""
    n = x.size
    mixed = x - 2.0 / n * x.sum()  # a reflection
    return 10.0 ** (2.0 * np.arange(n) / (n - 1)) * (mixed - 1.0)


def repeated(*values: float) -> Callable[[int], np.ndarray]:
    """A start that repeats these values."""
    return lambda n: np.resize(values, n).astype(float)


@dataclass(frozen=True)
class Family:
    """Residuals, the usual start, and what n must be a multiple of."""

    residuals: Function
    start: Callable[[int], np.ndarray]
    multiple: int = 1


FAMILIES = [
    Family(extended_rosenbrock, repeated(-1.2, 1.0), 2),
    Family(chained_rosenbrock, repeated(-1.2, 1.0)),
    Family(cube, repeated(-1.2, 1.0), 2),
    Family(powell_singular, repeated(3.0, -1.0, 0.0, 1.0), 4),
    Family(wood, repeated(-3.0, -1.0), 4),
    Family(beale, repeated(1.0), 2),
    Family(freudenstein_roth, repeated(0.5, -2.0), 2),
    Family(brown_almost_linear, repeated(0.5)),
    Family(trigonometric, lambda n: np.full(n, 1.0 / n)),
    Family(variably_dimensioned, lambda n: 1.0 - np.arange(1, n + 1) / n),
    Family(broyden_tridiagonal, repeated(-1.0)),
    Family(broyden_banded, repeated(-1.0)),
    Family(dixon_price, repeated(1.0)),
    Family(boundary_value, lambda n: np.arange(1, n + 1) / (n + 1) * (np.arange(1, n + 1) / (n + 1) - 1.0)),
    Family(
        integral_equation, lambda n: np.arange(1, n + 1) / (n + 1) * (np.arange(1, n + 1) / (n + 1) - 1.0)
    ),
    Family(penalty, lambda n: np.arange(1, n + 1).astype(float)),
    Family(exponentials, repeated(1.0)),
    Family(quadratic, repeated(0.0)),
]


def of_squares(residuals: Function) -> tuple[Callable[[np.ndarray], float], Function]:
    """Objective and gradient."""

    def fun(x: np.ndarray) -> float:
        r = residuals(x)
        return float(r @ r)

    def grad(x: np.ndarray) -> np.ndarray:
        found = np.empty(x.size)
        for j in range(x.size):
            moved = x.astype(complex)
            moved[j] += 1j * COMPLEX_STEP
            r = residuals(moved)
            found[j] = 2.0 * (r.real @ r.imag) / COMPLEX_STEP
        return found

    return fun, grad


@dataclass(frozen=True)
class Way:
    """What a solver did: the objective reached, how many values, and the lowest known at each gradient."""

    reached: float
    values: int
    seen: list[float]

    def until(self, best: float) -> int:
        """Gradients asked for before the objective was near the best."""
        near = best + NEAR * max(1.0, abs(best))
        return next((i for i, f in enumerate(self.seen) if f <= near), len(self.seen)) + 1

    def solved(self, best: float) -> bool:
        """Whether it reached the best."""
        return self.reached <= best + SOLVED * max(1.0, abs(best))


@dataclass
class Task:
    """One problem; what is asked twice in a row at one point counts once."""

    name: str
    fun: Callable[[np.ndarray], float]
    grad: Function
    x0: np.ndarray
    bounds: Bounds | None

    def counted(self, solve: Callable[..., np.ndarray]) -> Way:
        """What a solver does on it."""
        lowest, values, seen = np.inf, 0, []
        last = {"fun": b"", "grad": b""}

        def fun(x: np.ndarray) -> float:
            nonlocal lowest, values
            f = self.fun(x)
            lowest = min(lowest, f)
            if x.tobytes() != last["fun"]:
                last["fun"] = x.tobytes()
                values += 1
            return f

        def grad(x: np.ndarray) -> np.ndarray:
            nonlocal lowest
            if x.tobytes() != last["grad"]:
                last["grad"] = x.tobytes()
                lowest = min(lowest, self.fun(x))
                seen.append(lowest)
            return self.grad(x)

        x = solve(fun, self.x0, grad, self.bounds)
        return Way(self.fun(x), values, seen)


def ours(fun: Callable, x0: np.ndarray, grad: Callable, bounds: Bounds | None) -> np.ndarray:
    """softpenalty.minimize."""
    return softpenalty.minimize(fun, x0, jac=grad, bounds=bounds, options={"maxiter": LIMIT}).x


def slsqp(fun: Callable, x0: np.ndarray, grad: Callable, bounds: Bounds | None) -> np.ndarray:
    """SciPy's SLSQP, as in RESULTS.md."""
    options = {"ftol": 1e-10, "maxiter": LIMIT}
    return minimize(fun, x0, jac=grad, bounds=bounds, method="SLSQP", options=options).x


def lbfgsb(fun: Callable, x0: np.ndarray, grad: Callable, bounds: Bounds | None) -> np.ndarray:
    """SciPy's L-BFGS-B."""
    options = {"ftol": 1e-15, "gtol": 1e-6, "maxiter": LIMIT, "maxfun": 10 * LIMIT}
    return minimize(fun, x0, jac=grad, bounds=bounds, method="L-BFGS-B", options=options).x


SOLVERS = {"ours": ours, "SLSQP": slsqp, "L-BFGS-B": lbfgsb}


def functions(bounded: bool) -> Iterator[Task]:
    """The functions of this file in all sizes."""
    for family in FAMILIES:
        for n in SIZES:
            if n % family.multiple:
                continue
            x0, bounds = family.start(n), None
            if bounded:
                reach = np.where(np.arange(n) % 2 == 0, HALF, np.inf)
                bounds = Bounds(x0 - reach, x0 + reach)
            yield Task(f"{family.residuals.__name__} {n}", *of_squares(family.residuals), x0, bounds)


def hock_schittkowski() -> Iterator[Task]:
    """Those with bounds and nothing else."""
    for name in problems.HOCK_SCHITTKOWSKI:
        p = problems.load(name)
        if p.m == 0:
            yield Task(name, p.source.fun, p.source.grad, np.clip(p.x0, p.xl, p.xu), Bounds(p.xl, p.xu))


def from_all_starts(tasks: Iterator[Task]) -> Iterator[Task]:
    """Each problem from the usual start and from those near it."""
    for task in tasks:
        for seed in SEEDS:
            if seed is None:
                yield task
                continue
            lower, upper = (task.bounds.lb, task.bounds.ub) if task.bounds else (-np.inf, np.inf)
            x0 = perturbed(task.x0, lower, upper, SHARE, [seed, *task.name.encode()])
            yield replace(task, name=f"{task.name} ({seed})", x0=x0)


SETS: dict[str, Callable[[], Iterator[Task]]] = {
    "free": lambda: functions(bounded=False),
    "bounded": lambda: functions(bounded=True),
    "HS": hock_schittkowski,
}


@dataclass
class Ratios:
    """Of ours to a peer's, where both solve: logarithms of gradients, of those until near, and of values."""

    whole: list[float] = field(default_factory=list)
    early: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def take(self, ours: Way, theirs: Way, best: float) -> None:
        """Another problem."""
        self.whole.append(np.log(len(ours.seen) / len(theirs.seen)))
        self.early.append(np.log(ours.until(best) / theirs.until(best)))
        self.values.append(np.log(ours.values / theirs.values))

    def means(self) -> tuple[float, ...]:
        """Geometric ones."""
        return tuple(float(np.exp(np.mean(logs))) for logs in (self.whole, self.early, self.values))


def ratios(tasks: Iterator[Task], each: bool = False) -> tuple[int, int, dict[str, Ratios]]:
    """How many problems there are, how many of them are solved, and the ratios to each peer."""
    found: dict[str, Ratios] = {peer: Ratios() for peer in SOLVERS if peer != "ours"}
    count, own = 0, 0
    for task in tasks:
        with np.errstate(all="ignore"):
            ways = {name: task.counted(solve) for name, solve in SOLVERS.items()}
        best = min(way.reached for way in ways.values())
        count, own = count + 1, own + ways["ours"].solved(best)
        if each:
            cells = [
                f"{name} {len(way.seen):4d}{' ' if way.solved(best) else '!'}({way.until(best):4d})"
                for name, way in ways.items()
            ]
            print(f"{task.name:28s}", "  ".join(cells), flush=True)
        for peer, ratio in found.items():
            if ways["ours"].solved(best) and ways[peer].solved(best):
                ratio.take(ways["ours"], ways[peer], best)
    return count, own, found


def table(each: bool = False) -> list[str]:
    """One line a set and peer."""
    titles = "set | problems | solved by ours | against | solved by both | gradients | until 1e-8 | values"
    lines = [f"| {titles} |", "|---|--:|--:|---|--:|--:|--:|--:|"]
    for name, tasks in SETS.items():
        count, own, found = ratios(from_all_starts(tasks()), each)
        for peer, ratio in found.items():
            means = " | ".join(f"{mean:.3f}" for mean in ratio.means())
            lines.append(f"| {name} | {count} | {own} | {peer} | {len(ratio.whole)} | {means} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", action="store_true", help="print a line a problem")
    print("\n".join(table(parser.parse_args().each)))


if __name__ == "__main__":
    main()
