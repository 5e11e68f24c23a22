"""The explorer's formulas are Python's, to 1e-9, in a real browser."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from explore.visit import visit
from pages import needs_chromium
from softpenalty.formulas.combinations import COMBINATIONS
from softpenalty.formulas.kernels import KERNELS
from softpenalty.formulas.operators import OPERATORS, penalty_function, penalty_slope
from softpenalty.formulas.penalty import penalty_and_multipliers
from softpenalty.formulas.prediction import predicted_error
from softpenalty.study.design import published
from softpenalty.study.design.experiments import CONFIGURATIONS
from softpenalty.study.judge import corner

CLOSE = {"rtol": 1e-9, "atol": 1e-300}  # the absolute one is for what underflows
SIZES = (0.0, 1e-12, 1e-6, 1e-3, 0.03, 0.1, 0.25, 0.7, 1.0, 3.0, 40.0, 1e3, 1e8, 1e200)
ERRORS = sorted({sign * size for sign in (-1.0, 1.0) for size in SIZES})
ALPHAS = (1e-9, 1e-4, 0.02, 0.1, 0.7, 1.0, 25.0)
SIGMAS = (1e-3, 0.4, 1.0, 2.0, 15.0, 1e4)
FRACTIONS = (1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 1.0, 1.5, 30.0)
POINTS = [(-9.0, -8.0), (0.0, 0.0), (3.0, -2.0), (0.5, 4.0), (-0.2, -0.4), (1e3, 2e3), (0.01, -0.005)]
SETTINGS = [(s, a) for s in (0.2, 0.45, 1.0, 2.0, 15.0) for a in (0.01, 0.1, 0.5)]
CORNER_KERNELS = ("softplus", "algebraic", "quadratic")

CALLS = {
    "value": list(itertools.product(ERRORS, ALPHAS, OPERATORS, KERNELS)),
    "predicted": [
        (fraction * sigma, sigma, alpha, operator, kernel)
        for fraction, sigma, alpha, operator, kernel in itertools.product(
            FRACTIONS, SIGMAS, ALPHAS, OPERATORS, KERNELS
        )
    ],
    "penalized": [
        (x, kernel, combination, (sigma, 1.5 * sigma), alpha)
        for x, kernel, combination, (sigma, alpha) in itertools.product(
            POINTS, KERNELS, COMBINATIONS, SETTINGS
        )
    ],
    "minimum": [
        (kernel, combination, (sigma, sigma), alpha)
        for kernel, combination, (sigma, alpha) in itertools.product(CORNER_KERNELS, COMBINATIONS, SETTINGS)
    ],
}
ASK = """
  const s = page.softpenalty, calls = JSON.parse(document.getElementById("calls").textContent);
  const texts = value => JSON.parse(JSON.stringify(value, (_, v) => typeof v === "number" ? String(v) : v));
  const ends = JSON.parse(document.getElementById("ends").textContent);
  return texts({
    value: calls.value.map(c => [s.penaltyFunction(...c), s.penaltySlope(...c), s.penaltyCurvature(...c)]),
    predicted: calls.predicted.map(c => [s.predictedError(...c), s.minimumError(...c)]),
    penalized: calls.penalized.map(c => s.corner.penalized(...c)),
    minimum: calls.minimum.map(c => s.corner.minimum(...c)),
    ends: ends.map(c => s.corner.descend(x => s.corner.penalized(x, ...c), s.corner.START).points.at(-1)),
    balance: Object.values(s.COMBINATIONS).map(c => c.balance(s.corner.MULTIPLIERS)),
    strength: Object.values(s.COMBINATIONS).map(c => c.strength(s.corner.MULTIPLIERS)),
    names: [Object.keys(s.KERNELS), Object.keys(s.OPERATORS), Object.keys(s.COMBINATIONS)],
  });
"""


def numbers(texts: Any) -> Any:
    """Arrays of the numbers that JSON, which knows no infinity, carries as text."""
    return np.array(texts, dtype=object).astype(float)


ENDS = [
    (CONFIGURATIONS[name].kernel, CONFIGURATIONS[name].combination, (corner.SIGMA,) * 2, corner.ALPHA)
    for name in published.PATH_ENDS
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    given = "".join(
        f'<script type="application/json" id="{name}">{json.dumps(what)}</script>'
        for name, what in (("calls", CALLS), ("ends", ENDS))
    )
    return visit(tmp_path_factory.mktemp("formulas") / "place", ASK, given=given)


@needs_chromium
def test_the_page_has_the_names_of_python(answers: dict[str, Any]) -> None:
    assert answers["names"] == [list(KERNELS), list(OPERATORS), list(COMBINATIONS)]


def curvature(error: float, alpha: float, operator: str, kernel: str) -> float:
    low, high = OPERATORS[operator]
    g = KERNELS[kernel]
    return high * g.curvature(error, alpha) - low * g.curvature(-error, alpha)


@needs_chromium
def test_value_slope_and_curvature(answers: dict[str, Any]) -> None:
    ours = np.array(
        [
            [function(*call) for function in (penalty_function, penalty_slope, curvature)]
            for call in CALLS["value"]
        ]
    )
    np.testing.assert_allclose(numbers(answers["value"]), ours, **CLOSE)


@needs_chromium
def test_predicted_error(answers: dict[str, Any]) -> None:
    ours = np.array([predicted_error(*call) for call in CALLS["predicted"]])
    assert np.isinf(ours).any() and (ours == 0.0).any()
    np.testing.assert_allclose(numbers(answers["predicted"])[:, 0], ours, **CLOSE)


@needs_chromium
def test_the_minimum_is_where_push_and_pull_are_equal(answers: dict[str, Any]) -> None:
    """Python's slope at the error that the page marks is the gradient; there is none where it says so."""
    seen = 0
    for (gradient, sigma, alpha, operator, kernel), (_, error) in zip(
        CALLS["predicted"], numbers(answers["predicted"]), strict=True
    ):
        weak = KERNELS[kernel].saturates and gradient >= sigma
        assert np.isnan(error) == weak
        if weak or kernel == "linear":
            continue
        pull = gradient if operator == ">" else -gradient
        slope = sigma * penalty_slope(error, alpha, operator, kernel)
        np.testing.assert_allclose(slope, -pull, rtol=1e-9)
        seen += 1
    assert seen > 1000


@needs_chromium
def test_value_and_gradient_in_the_corner(answers: dict[str, Any]) -> None:
    for (x, kernel, combination, sigmas, alpha), theirs in zip(
        CALLS["penalized"], answers["penalized"], strict=True
    ):
        penalty, multipliers = penalty_and_multipliers(
            corner.NORMALS @ np.array(x),
            sigma=np.array(sigmas),
            alpha=alpha,
            kernel=kernel,
            combination=combination,
        )
        value, gradient = (
            corner.OBJECTIVE @ np.array(x) + penalty,
            corner.OBJECTIVE + corner.NORMALS.T @ multipliers,
        )
        # Relative to the terms of the sums, which may cancel.
        np.testing.assert_allclose(float(theirs["value"]), value, rtol=1e-9, atol=1e-9 * np.abs(x).max())
        np.testing.assert_allclose(numbers(theirs["gradient"]), gradient, rtol=1e-9, atol=1e-9)


def corner_gradient(
    kernel: str, combination: str, sigmas: tuple[float, float], alpha: float
) -> Callable[[np.ndarray], np.ndarray]:
    def gradient(x: np.ndarray) -> np.ndarray:
        _, multipliers = penalty_and_multipliers(
            corner.NORMALS @ x, sigma=np.array(sigmas), alpha=alpha, kernel=kernel, combination=combination
        )
        return corner.OBJECTIVE + corner.NORMALS.T @ multipliers

    return gradient


@needs_chromium
def test_minimum_in_the_corner(answers: dict[str, Any]) -> None:
    for call, theirs in zip(CALLS["minimum"], answers["minimum"], strict=True):
        kernel, combination, sigmas, alpha = call
        needed = COMBINATIONS[combination].strength(corner.multipliers())
        if KERNELS[kernel].saturates and sigmas[0] <= needed:
            assert theirs is None
            continue
        gradient, found = corner_gradient(*call), numbers(theirs)
        ours = scipy.optimize.root(gradient, found + 1e-3 * alpha, tol=1e-14).x  # from beside it
        np.testing.assert_allclose(gradient(ours), 0.0, atol=1e-13)
        np.testing.assert_allclose(found, ours, rtol=0, atol=1e-9)


@needs_chromium
def test_balance_and_strength_in_the_corner(answers: dict[str, Any]) -> None:
    needed = corner.multipliers()
    ours = [combination.balance(needed) for combination in COMBINATIONS.values()]
    np.testing.assert_allclose(numbers(answers["balance"]), ours, rtol=1e-9)
    strengths = [combination.strength(needed) for combination in COMBINATIONS.values()]
    np.testing.assert_allclose(numbers(answers["strength"]), strengths, rtol=1e-9)


@needs_chromium
def test_paths_end_where_the_paper_has_them(answers: dict[str, Any]) -> None:
    ends = list(published.PATH_ENDS.values())
    np.testing.assert_allclose(numbers(answers["ends"]), ends, rtol=0, atol=2e-3)  # stated to three decimals
