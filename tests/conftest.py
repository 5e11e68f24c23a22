"""Shared fixtures: the array backends, and a switch that lets no test be skipped."""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("default", deadline=None, derandomize=True)
hypothesis.settings.load_profile("default")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """Turn every skip into a failure where SOFTPENALTY_NO_SKIP is set: CI has everything installed."""
    report = yield
    if os.environ.get("SOFTPENALTY_NO_SKIP") and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, which SOFTPENALTY_NO_SKIP does not allow: {report.longrepr}"
    return report


def _numpy() -> SimpleNamespace:
    return SimpleNamespace(name="numpy", array=np.asarray, to_numpy=np.asarray)


def _torch() -> SimpleNamespace:
    torch = pytest.importorskip("torch")
    return SimpleNamespace(
        name="torch", array=lambda a: torch.from_numpy(np.array(a)), to_numpy=lambda t: t.detach().numpy()
    )


def _jax() -> SimpleNamespace:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return SimpleNamespace(name="jax", array=jax.numpy.asarray, to_numpy=np.asarray)


@pytest.fixture(params=[_numpy, _torch, _jax], ids=["numpy", "torch", "jax"])
def backend(request: pytest.FixtureRequest) -> SimpleNamespace:
    """An array library: `name`, `array(numpy array)` and `to_numpy(array)`."""
    return request.param()


@pytest.fixture
def run_gallery(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Run a script of the gallery by its name, without a screen; its figures are open until the test ends."""
    matplotlib = pytest.importorskip("matplotlib")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    gallery = Path(__file__).parents[1] / "examples" / "gallery"
    pyplot.switch_backend("agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    with matplotlib.rc_context():
        yield lambda name: runpy.run_path(str(gallery / f"{name}.py"), run_name="__main__")
    pyplot.close("all")
