"""The training examples run, hold their constraints and draw; the slower ones in a short version."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "training"
pytest.importorskip("matplotlib")


def load(name: str, *needs: str) -> dict:
    for need in needs:
        pytest.importorskip(need)
    return runpy.run_path(str(FOLDER / f"{name}.py"))


@pytest.mark.slow
def test_classifier(tmp_path):
    example = load("rate_constrained_classifier", "torch", "sklearn")
    (_, alarms), plain, missed = example["main"](tmp_path / "picture.png")
    assert sum(missed[-50:]) / 50 == pytest.approx(0.05, abs=0.015)  # one of the 127 malignant cases is 0.008
    assert alarms <= plain[1]
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.slow
def test_fit(tmp_path):
    least = load("constrained_fit_jax", "jax", "optax")["main"](tmp_path / "picture.png")
    assert least["free"] < -1.0
    assert least["constrained"] > -0.01  # of slopes about 2; alpha is 0.05
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.slow
def test_poisson(tmp_path):
    edge = load("poisson_pinn", "torch")["main"](tmp_path / "picture.png", steps=400)
    assert edge["adaptive"] < 0.5 * edge["quadratic"]
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.slow
def test_pendulum(tmp_path):
    """Ten iterations learn nothing about the pendulum, but the torque already falls."""
    example = load("ppo_pendulum", "torch", "gymnasium")
    run = example["train"]("adaptive", iterations=10)
    assert run["history"][-1][1] < run["history"][0][1]
    assert all(weight > 0 for _, _, weight in run["history"])
    example["main"](tmp_path / "picture.png", iterations=2)
    assert (tmp_path / "picture.png").stat().st_size > 10_000
