"""The plot of a result: what is drawn, on which axes, and what is labelled."""

from __future__ import annotations

import numpy as np
import pytest

from softpenalty import Constraint, minimize
from softpenalty.solve.plot import APART, DARK, LIGHT, MOST_LABELS, _spread

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def solve(held, free=2, scale=1.0):
    """Minimize −Σx: `held` rows x[i] < 1 are active, `free` others are not."""
    rows = [Constraint(lambda x, i=i: x[i], "<", scale, name=f"held {i}") for i in range(held)]
    rows += [Constraint(lambda x, i=i: x[0], "<", 5.0 * scale, name=f"free {i}") for i in range(free)]
    weights = np.arange(1.0, held + 1.0)
    return minimize(lambda x: -weights @ x + 0.01 * x @ x, np.zeros(held) - scale, constraints=rows)


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_curves_labels_and_title():
    result = solve(3)
    figure = result.plot()
    assert isinstance(figure, matplotlib.figure.Figure)
    objective, residuals, multipliers = figure.axes
    assert figure.get_suptitle().startswith("Converged: objective -5.97")
    np.testing.assert_array_equal(objective.lines[0].get_ydata(), result.history.column("fun"))
    assert residuals.get_yscale() == "log" and multipliers.get_yscale() == "symlog"
    assert [t.split()[0] for t in texts(residuals)] in (
        ["violation", "stationarity"],
        ["stationarity", "violation"],
    )
    assert texts(multipliers) == ["held 2 < 1: 2.98", "held 1 < 1: 1.98", "held 0 < 1: 0.98", "2 not active"]
    assert not any(axes.get_legend() for axes in figure.axes)


def test_thirty_constraints_are_labelled_as_far_as_there_is_room():
    figure = solve(20, 10).plot()
    multipliers = figure.axes[2]
    assert len(multipliers.lines) == 30
    assert len(multipliers.texts) == MOST_LABELS + 1
    assert texts(multipliers)[0].startswith("held 19 < 1") and f"and {30 - MOST_LABELS} more" in texts(
        multipliers
    )
    heights = sorted(text.xyann[1] for text in multipliers.texts)
    assert np.diff(heights).min() >= APART - 1e-12  # rounding


def test_labels_stay_apart_and_in_order():
    places = _spread([1.0, 0.99, 0.98, 0.5, 0.49, 0.1])
    assert (-np.diff(places) >= APART - 1e-12).all()  # rounding
    assert max(places) <= 1.0 and places[-1] == 0.1
    assert _spread([0.8, 0.2]) == [0.8, 0.2]


@pytest.mark.parametrize(("style", "colours"), [("default", LIGHT), ("dark_background", DARK)])
def test_colours_suit_the_background(style, colours):
    with pyplot.style.context(style):
        figure = solve(3).plot()
    drawn = {to_hex(line.get_color()) for line in figure.axes[2].lines}
    assert set(colours[:3]) <= drawn and len(drawn) == 4  # and grey
    assert figure.axes[0].lines[0].get_color() == colours[0]


def test_violation_is_relative_to_the_target():
    history = solve(1, scale=1000.0).history
    far = minimize(lambda x: x @ x, [0.0], constraints=Constraint(lambda x: x[0], ">", 1000.0)).history
    assert history.column("violation")[-1] <= 1e-8
    assert far.column("maxcv")[0] == pytest.approx(1000.0) and far.column("violation")[0] == pytest.approx(
        1.0
    )


@pytest.mark.parametrize("method", ["penalty", "multiplier"])
def test_other_methods(method):
    row = Constraint(lambda x: x[0], ">", 1000.0, name="floor")
    result = minimize(lambda x: x @ x, [1.0], constraints=row, method=method)
    assert result.history.column("violation")[0] == pytest.approx(result.history.column("maxcv")[0] / 1000.0)
    assert result.plot().axes[2].lines


def test_without_constraints_and_without_a_history():
    free = minimize(lambda x: x @ x, [1.0, 2.0])
    assert texts(free.plot().axes[2]) == ["no constraints"]
    invalid = minimize(lambda x: np.nan, [1.0])
    assert len(invalid.plot().axes) == 3


def test_own_axes():
    figure, axes = pyplot.subplots(1, 3)
    assert solve(1).plot(axes) is figure


@pytest.mark.parametrize(
    ("objective", "scale"),
    [
        (lambda x: x @ x + 1e-3, "log"),
        (lambda x: x @ x - 5.0, "symlog"),
        (lambda x: x[0] ** 2 + 60, "linear"),
    ],
)
def test_scale_of_the_objective(objective, scale):
    assert minimize(objective, [10.0, 10.0]).plot().axes[0].get_yscale() == scale
