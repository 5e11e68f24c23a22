"""The problems of benchmarks/training.py: what is measured in a step, and the one function that judges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer

from softpenalty import Constraint, minimize

LN2 = math.log(2.0)


class Classifier:
    """Least loss on benign samples with a loss on malignant ones of at most LEVEL (breast cancer data).

    Logistic regression; losses are log2(1 + e^z), upper bounds of the rates of false alarms and misses.
    """

    LEVEL, RIDGE, RATE = 0.05, 1e-3, 0.05
    operator, n = "<", 1

    def __init__(self, scale: float, batch: int | None = None) -> None:
        features, kind = load_breast_cancer(return_X_y=True)
        features = (features - features.mean(axis=0)) / features.std(axis=0)
        features = np.column_stack([features, np.ones(len(features))])
        self.sides = [torch.tensor(features[kind == k], dtype=torch.float32) for k in (1, 0)]
        self.scale, self.batch = scale, batch

    def start(self, seed: int) -> torch.Tensor:
        self.draw = torch.Generator().manual_seed(seed)
        return (0.01 * torch.randn(31, generator=self.draw)).requires_grad_()

    def optimizer(self, x: torch.Tensor) -> tuple[torch.optim.Optimizer, Any]:
        return torch.optim.Adam([x], lr=self.RATE), None

    def measure(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Objective and errors (1,), of a batch where there are batches."""
        benign, malignant = self.sides
        if self.batch:
            benign, malignant = (
                side[torch.randint(len(side), (self.batch // 2,), generator=self.draw)] for side in self.sides
            )
        return self._losses(x, benign, malignant)

    def judge(self, x: torch.Tensor) -> float:
        """Largest of: objective's distance from the best, violation; both relative."""
        with torch.no_grad():
            objective, errors = self._losses(x, *self.sides)
        distance = abs(objective.item() / self.scale / self.best() - 1.0)
        return max(distance, errors.item() / self.LEVEL)

    def _losses(
        self, x: torch.Tensor, benign: torch.Tensor, malignant: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        loss = torch.nn.functional.softplus
        objective = loss(benign @ x).mean() / LN2 + self.RIDGE * x[:-1].square().sum()
        return self.scale * objective, loss(-(malignant @ x)).mean().reshape(1) / LN2 - self.LEVEL

    _best: float | None = None

    @classmethod
    def best(cls) -> float:
        """The best objective, by `softpenalty.minimize` in double precision."""
        if cls._best is None:
            problem = cls(1.0)
            benign, malignant = (side.double() for side in problem.sides)

            def part(which: int) -> Callable[[Any], tuple[float, Any]]:
                def function(x: Any) -> tuple[float, Any]:
                    variable = torch.tensor(x, requires_grad=True)
                    value = problem._losses(variable, benign, malignant)[which].sum()
                    value.backward()
                    return value.item(), variable.grad.numpy()

                return function

            error = part(1)
            constraint = Constraint(lambda x: error(x)[0], "<", 0.0, jac=lambda x: error(x)[1])
            result = minimize(part(0), np.zeros(31), jac=True, constraints=constraint)
            if not result.success:
                raise RuntimeError(f"no reference solution: {result.message}")
            cls._best = result.fun
        return cls._best


class Regression:
    """Least squares of a curve (24 bumps, noisy data) that has to pass through four points exactly."""

    operator, n, RATE = "=", 4, 0.02

    def __init__(self, steps: int) -> None:
        self.steps = steps
        random = np.random.default_rng(7)
        at = np.linspace(0.0, 1.0, 24)

        def bumps(t: Any) -> torch.Tensor:
            return torch.tensor(np.exp(-(((t[:, None] - at) / 0.08) ** 2)))

        t = random.random(120)
        self.data = bumps(t), torch.tensor(np.sin(6.0 * t) + 0.3 * random.normal(size=t.size))
        points = np.array([0.05, 0.35, 0.65, 0.95])
        self.points = bumps(points), torch.tensor(np.sin(6.0 * points))

    def start(self, seed: int) -> torch.Tensor:
        return (
            0.1 * torch.randn(24, generator=torch.Generator().manual_seed(seed)).double()
        ).requires_grad_()

    def optimizer(self, x: torch.Tensor) -> tuple[torch.optim.Optimizer, Any]:
        optimizer = torch.optim.Adam([x], lr=self.RATE)
        return optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)

    def measure(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Objective and errors (4,)."""
        matrix, values = self.data
        rows, targets = self.points
        return (matrix @ x - values).square().mean(), rows @ x - targets

    def judge(self, x: torch.Tensor) -> float:
        """The largest equality error."""
        with torch.no_grad():
            return float(self.measure(x)[1].abs().max())
