"""The result: multipliers, report, plot, honesty."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

from softpenalty import Constraint
from softpenalty.solve.minimize import minimize
from softpenalty.solve.result import Result

AREA = Constraint(lambda x: x[0] * x[1], ">", 25.0, name="area")
SLACK = Constraint(lambda x: x[0] + x[1], "<", 10.26, name="slack")


@pytest.fixture(scope="module")
def result() -> Result:
    return minimize(
        lambda x: 2.0 * x[0] + x[1], [9.0, 1.0], bounds=[(4.0, None), (0.0, None)], constraints=[AREA, SLACK]
    )


def test_fields(result):
    scipy_names = {"x", "fun", "jac", "success", "status", "message", "nit", "nfev", "njev", "maxcv"}
    names = scipy_names | {"multipliers", "kkt", "active", "history"}
    assert names <= set(result)
    assert result.success is True
    assert set(result.multipliers) == {"area", "slack", "bounds"}
    assert result.multiplier_vector.shape == (2,)


def test_multipliers_have_the_documented_signs_and_meaning(result):
    # On x0·x1 = 25 with x0 at its bound 4: multiplier of the area is −∂f/∂target = −1/4.
    assert result.x == pytest.approx([4.0, 6.25], abs=1e-6)
    assert result.multipliers["area"][0] == pytest.approx(-0.25, abs=1e-5)
    assert result.multipliers["bounds"][0] < 0.0  # a lower bound
    h = 1e-3
    more = minimize(
        lambda x: 2.0 * x[0] + x[1], [9.0, 1.0], bounds=[(4.0, None), (0.0, None)],
        constraints=Constraint(AREA.fun, ">", 25.0 + h),
    )  # fmt: skip
    assert (more.fun - result.fun) / h == pytest.approx(-result.multipliers["area"][0], rel=1e-2)


def test_range_has_two_rows_and_one_multiplier():
    both = minimize(lambda x: x @ x, [3.0, 1.0], constraints=NonlinearConstraint(lambda x: x[0], 1.0, 2.0))
    assert both.multiplier_vector.shape == (2,)
    assert both.multipliers["constraint 0"] == pytest.approx([-2.0], abs=1e-5)


def test_print_is_short_and_report_explains(result):
    assert len(str(result).splitlines()) <= 12
    text = result.report()
    rows = {line.split()[1]: line.split() for line in text.splitlines() if " > " in line or " < " in line}
    assert rows["area"] == ["active", "area", "25", ">", "25", "0", "-0.25", "+0.25", "+0.0625"]
    assert rows["x[0]"][:6] == ["active", "x[0]", "(bound)", "4", ">", "4"]
    assert rows["slack"] == ["near", "slack", "10.25", "<", "10.26", "0.01"]


def test_history_and_plot(result):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    assert result.history.column("fun")[-1] == pytest.approx(result.fun)
    assert result.history.column("multipliers").shape == (len(result.history), 2)
    figure = result.plot()
    assert len(figure.axes) == 3 and figure.axes[0].lines
    pyplot.close("all")


def test_pickles(result):
    again = pickle.loads(pickle.dumps(result))
    assert isinstance(again, Result) and again.report() == result.report()


def test_wrong_gradients_are_not_called_success():
    wrong = minimize(lambda x: (x[0] - 1.0) ** 2 + x[1] ** 2, [3.0, 2.0], jac=lambda x: np.array([1.0, 1.0]))
    assert not wrong.success and wrong.status != 0


def test_failed_points_are_counted():
    def log_model(x):
        if x[0] <= 0.0:
            raise FloatingPointError("log")
        return x[0] - 10.0 * np.log(x[0])

    result = minimize(log_model, [500.0], jac="3-point")
    assert result.success and result.x == pytest.approx([10.0], abs=1e-4)
    assert result.failures > 0
