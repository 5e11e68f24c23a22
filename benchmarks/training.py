"""Constrained training, `softpenalty.training` beside Cooper and mdmm: benchmarks/TRAINING.md.

    python -m benchmarks.training            # the rest of what is not on file yet, then the page
    python -m benchmarks.training --rl       # PPO on Pendulum too (an hour)

Every method gets the same number of trials (settings on a logarithmic grid), the same optimizer, steps and
starting points. One setting is then chosen for each method, the one that works most often in the trials, and
run with all seeds; where batches make a trial a matter of luck, the trials have seeds of their own. A method
returns parameters; `judge` alone says how good they are. Records are kept, one line each, so that an
interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cooper
import mdmm
import numpy as np
import torch

from benchmarks import training_page
from benchmarks.records import append, writing
from benchmarks.training_problems import Classifier, Regression
from softpenalty.training.torch import AdaptivePenalty

HERE = Path(__file__).parent
RECORDS = HERE / "records" / "training.jsonl"
PAGE = HERE / "TRAINING.md"
SCALES = (0.01, 0.1, 1.0, 10.0, 100.0)
SEEDS = range(5)
CHOICE = range(10, 15)  # seeds of the trials in mini-batches
STEPS = 1500
STAY = 300  # a point counts as reached where it is kept that long
CLOSE = 0.01  # of the best objective, and of the level: "to 1 %"


# --- methods --------------------------------------------------------------------------------------------

Step = Callable[[], None]


def ours(problem: Any, x: torch.Tensor, optimizer: Any, **settings: Any) -> Step:
    con = AdaptivePenalty(problem.n, operator=problem.operator, **settings).to(x.dtype)

    def step() -> None:
        objective, errors = problem.measure(x)
        optimizer.zero_grad()
        (objective + con(errors)).backward()
        optimizer.step()
        con.update()

    return step


def with_cooper(problem: Any, x: torch.Tensor, optimizer: Any, **settings: Any) -> Step:
    """Lagrangian; augmented where there is a `penalty`, nuPI where there is a `proportional` gain."""
    kinds = cooper.ConstraintType
    augmented = "penalty" in settings
    extra = {}
    if augmented:
        extra["penalty_coefficient"] = cooper.penalty_coefficients.DensePenaltyCoefficient(
            torch.tensor(settings["penalty"], dtype=x.dtype)
        )
    constraint = cooper.Constraint(
        kinds.EQUALITY if problem.operator == "=" else kinds.INEQUALITY,
        formulation_type=getattr(cooper.formulations, "AugmentedLagrangian" if augmented else "Lagrangian"),
        multiplier=cooper.multipliers.DenseMultiplier(num_constraints=problem.n, dtype=x.dtype),
        **extra,
    )

    class Constrained(cooper.ConstrainedMinimizationProblem):
        def compute_cmp_state(self) -> Any:
            objective, errors = problem.measure(x)
            return cooper.CMPState(objective, {constraint: cooper.ConstraintState(errors)})

    constrained = Constrained()
    constrained.constraint = constraint
    if "proportional" in settings:
        dual: Any = cooper.optim.nuPI(
            constrained.dual_parameters(), lr=settings["rate"], Kp=settings["proportional"], maximize=True
        )
    else:
        dual = torch.optim.SGD(constrained.dual_parameters(), lr=settings["rate"], maximize=True)
    rolling = cooper.optim.SimultaneousOptimizer(constrained, optimizer, dual)
    return lambda: rolling.roll() and None


def with_mdmm(problem: Any, x: torch.Tensor, optimizer: Any, **settings: Any) -> Step:
    """Its own optimizer ascends with the negated rate; `rate` is relative to that of the parameters."""
    seen: list[torch.Tensor] = []
    kind = mdmm.EqConstraint if problem.operator == "=" else mdmm.MaxConstraint
    constraints = [
        kind(lambda i=i: seen[0][i], 0.0, scale=settings["rate"], damping=settings["damping"])
        for i in range(problem.n)
    ]
    module = mdmm.MDMM(constraints).to(x.dtype)
    multipliers = [c.lmbda for c in module]
    slacks = [c.slack for c in module if hasattr(c, "slack")]
    base = optimizer.param_groups[0]["lr"]
    optimizer.add_param_group({"params": multipliers, "lr": -base})  # as its make_optimizer does
    if slacks:
        optimizer.add_param_group({"params": slacks, "lr": base})

    def step() -> None:
        objective, errors = problem.measure(x)
        seen[:] = [errors]
        optimizer.zero_grad()
        module(objective).value.backward()
        optimizer.step()

    return step


def grid(**axes: Any) -> list[dict[str, Any]]:
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


@dataclass(frozen=True)
class Method:
    name: str
    make: Callable[..., Step]
    trials: list[dict[str, Any]]


def decades(low: float, high: float, count: int) -> list[float]:
    return [float(f"{value:.2g}") for value in np.geomspace(low, high, count)]


def suite(own: list[dict[str, Any]], rate: float, penalties: list[float]) -> list[Method]:
    """All methods with as many settings each; `rate` is where the peers' rates are centred."""
    return [
        Method("softpenalty", ours, own),
        Method("Cooper, Lagrangian", with_cooper, grid(rate=decades(rate / 100, rate * 300, 8))),
        Method(
            "Cooper, augmented", with_cooper, grid(rate=decades(rate / 10, rate * 100, 4), penalty=penalties)
        ),
        Method(
            "Cooper, nuPI", with_cooper, grid(rate=decades(rate / 30, rate * 30, 4), proportional=[1.0, 10.0])
        ),
        Method("mdmm", with_mdmm, grid(rate=decades(rate / 10, rate * 100, 4), damping=penalties)),
    ]


# The rate that worked best in a first look at scale 1 is in the middle of the peers' grids.
FULL = suite(
    grid(alpha=[0.01, 0.1], sigma=[0.01, 0.1], eta=[0.03, 0.1], decay=[0.0]),
    rate=1.0,
    penalties=[0.1, 1.0],
)
NOISY = suite(
    [
        {**axes, "decay": 1.0 - axes["eta"]}
        for axes in grid(alpha=[0.02, 0.1], sigma=[0.1, 1.0], eta=[0.01, 0.03])
    ],
    rate=1.0,
    penalties=[0.1, 1.0],
)
EQUAL = suite(
    grid(alpha=[0.01, 0.1], sigma=[0.1, 1.0], eta=[0.03, 0.1], decay=[0.0]), rate=0.1, penalties=[1.0, 10.0]
)
TRIALS = 8


# --- running --------------------------------------------------------------------------------------------


def reach(problem: Any, method: Method, settings: dict[str, Any], seed: int) -> float:
    """Steps until the point is within CLOSE and stays there; infinite where that does not happen."""
    x = problem.start(seed)
    step = method.make(problem, x, problem.optimizer(x)[0], **settings)
    since = None
    for index in range(STEPS):
        if problem.judge(x) <= CLOSE:
            since = index if since is None else since
            if index - since >= STAY:
                return since
        else:
            since = None
        step()
    return math.inf


def settle(problem: Any, method: Method, settings: dict[str, Any], seed: int) -> float:
    """Judgement of the parameters' mean over the last fifth of the steps."""
    x = problem.start(seed)
    step = method.make(problem, x, problem.optimizer(x)[0], **settings)
    tail = torch.zeros_like(x)
    for index in range(STEPS):
        step()
        if index >= STEPS - STEPS // 5:
            tail += x.detach()
    return _finite(problem.judge(tail / (STEPS // 5)))


def finish(problem: Any, method: Method, settings: dict[str, Any], seed: int) -> float:
    """Judgement of the last point, with the optimizer's schedule."""
    x = problem.start(seed)
    optimizer, schedule = problem.optimizer(x)
    step = method.make(problem, x, optimizer, **settings)
    if method.make is with_mdmm:
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, problem.steps)  # of all its groups
    for _ in range(problem.steps):
        step()
        schedule.step()
    return _finite(problem.judge(x))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.inf


class Records:
    """One line a run; what is on file is not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path) as known:  # a torn last line is cut off
            self.known = {record["key"]: record["value"] for record in known}

    def get(self, key: str, compute: Callable[[], Any]) -> Any:
        if key not in self.known:
            started = time.perf_counter()
            value = compute()
            self.known[key] = value
            append(self.path, {"key": key, "value": value})
            print(f"{time.perf_counter() - started:6.1f} s  {key}: {value}", flush=True)
        return self.known[key]


def sweep(
    records: Records,
    name: str,
    problems: list[tuple[str, Any]],
    methods: list[Method],
    run: Callable[..., float],
    choice: Sequence[int] = (0,),
) -> dict[str, dict[str, Any]]:
    """Trials of every method on the seeds of the choice, then its most reliable setting on all seeds."""

    def row(method: Method, settings: dict[str, Any], seed: int) -> list[float]:
        return [
            records.get(
                f"{name} | {method.name} | {json.dumps(settings)} | {label} | seed {seed}",
                lambda p=problem: run(p, method, settings, seed),
            )
            for label, problem in problems
        ]

    found = {}
    for method in methods:
        trials = [
            [statistics.fmean(column) for column in zip(*(row(method, s, k) for k in choice), strict=True)]
            for s in method.trials
        ]
        chosen = min(range(len(trials)), key=lambda i: _rank(trials[i]))
        settings = method.trials[chosen]
        seeds = [row(method, settings, seed) for seed in SEEDS]
        found[method.name] = {"trials": trials, "settings": settings, "seeds": seeds}
    return found


def _rank(values: list[float]) -> tuple[float, float]:
    finite = [value for value in values if value < math.inf]
    return -len(finite), statistics.fmean(finite) if finite else math.inf


def added_time(n: int, rounds: int = 40, steps: int = 50) -> dict[str, float]:
    """Microseconds a step of n constraints that the method adds, least of interleaved rounds."""

    class Toy:
        operator = "<"

        def __init__(self) -> None:
            self.n = n

        def measure(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return (x - 1.0).square().sum(), x - 0.5

    def bare(problem: Any, x: torch.Tensor, optimizer: Any) -> Step:
        def step() -> None:
            objective, _ = problem.measure(x)
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()

        return step

    contenders = {"bare": (bare, {}), "softpenalty": (ours, {}), "Lagrangian": (with_cooper, {"rate": 0.01})}
    running = {}
    for name, (make, settings) in contenders.items():
        x = torch.zeros(n, requires_grad=True)
        running[name] = make(Toy(), x, torch.optim.SGD([x], lr=1e-4), **settings)
    least = dict.fromkeys(running, math.inf)
    for _ in range(rounds):
        for name, step in running.items():
            started = time.process_time()
            for _ in range(steps):
                step()
            least[name] = min(least[name], (time.process_time() - started) / steps * 1e6)
    return {name: least[name] - least["bare"] for name in running if name != "bare"}


# --- everything ----------------------------------------------------------------------------------------


def reinforcement(records: Records) -> dict[str, list[Any]]:
    """PPO on Pendulum, our rule beside PPO-Lagrangian."""
    import runpy

    example = runpy.run_path(str(HERE.parent / "examples" / "training" / "ppo_pendulum.py"))
    return {
        name: [
            records.get(f"rl | {name} | seed {seed}", lambda n=name, s=seed: example["train"](n, s)["end"])
            for seed in SEEDS
        ]
        for name in ("adaptive", "lagrangian")
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rl", action="store_true", help="PPO on Pendulum too")
    parser.add_argument("--records", type=Path, default=RECORDS, help="file of the runs made so far")
    parser.add_argument("--page", type=Path, default=PAGE, help="file to write")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    records = Records(arguments.records)
    scales = [(f"×{scale:g}", Classifier(scale)) for scale in SCALES]
    full = sweep(records, "full batch", scales, FULL, reach)
    noisy = sweep(records, "mini-batch", [("×1", Classifier(1.0, batch=64))], NOISY, settle, CHOICE)
    equal = sweep(records, "equalities", [("regression", Regression(2000))], EQUAL, finish)
    times = {n: records.get(f"time | {n}", lambda n=n: added_time(n)) for n in (1, 10, 1000)}
    rl = reinforcement(records) if arguments.rl or "rl | lagrangian | seed 4" in records.known else None
    page = training_page.lines(full, noisy, equal, times, rl, SCALES, TRIALS, STEPS, STAY)
    arguments.page.write_text("\n".join(page) + "\n", encoding="utf-8")
    print(arguments.page)


if __name__ == "__main__":
    main()
