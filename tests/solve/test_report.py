"""What the report says: names, numbers, and advice for every status; the same as text and as HTML."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from design_problems import SPEED_REDUCER
from softpenalty import Constraint, minimize
from softpenalty.solve.report.advice import ADVICE


def fence(**options):
    """The least fence around 25 m² at most 4 m deep."""
    area = Constraint(lambda x: x[0] * x[1], ">", 25.0, name="area")
    depth = Constraint(lambda x: x[1], "<", 4.0, name="depth")
    arguments = {"x0": [9.0, 1.0], "constraints": [area, depth], "names": ["width", "depth"], **options}
    return minimize(lambda x: 2.0 * (x[0] + x[1]), **arguments)


def cells(text, name):
    """The cells of the row of a constraint."""
    pattern = rf"^\w* +{re.escape(name)}  .* [<=>] "
    (line,) = [line for line in text.splitlines() if re.search(pattern, line)]
    state, _, rest = line.partition(name)
    return [state.strip(), *rest.split()]


def plain(page):
    """The words of an HTML page."""
    return " ".join(html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)).split())


def test_a_constraint_shows_its_value_target_slack_multiplier_and_worth():
    text = fence().report()
    assert "width = 6.25" in text and "depth = 4" in text and "objective 20.5" in text
    # width = 25/4, so one m² more costs 2/4, and one m more depth saves 2·25/16 − 2
    assert cells(text, "area") == ["active", "25", ">", "25", "0", "-0.5", "+0.5", "+0.125"]
    assert cells(text, "depth") == ["active", "4", "<", "4", "0", "1.125", "-1.125", "-0.045"]


def test_without_names_the_variables_are_numbered():
    assert "x[0] = 6.25" in fence(names=None).report()


@pytest.mark.parametrize("names", ["width", ["width"], ["width", "depth", "height"], ["width", 3]])
def test_names_must_fit(names):
    with pytest.raises(ValueError, match=r"minimize\(names=...\).*2 text"):
        fence(names=names)


def test_components_of_a_vector_go_by_name_and_index():
    limits = Constraint(lambda x: np.array([x[0], -x[1], x[0] + x[1]]), "<", [1.0, 2.0, 0.9], name="limits")
    text = minimize(lambda x: -x[0] - 2.0 * x[1] + 0.1 * x @ x, [0.0, 0.0], constraints=limits).report()
    assert cells(text, "limits[2]")[:4] == ["active", "0.9", "<", "0.9"]
    assert cells(text, "limits[1]")[0] == ""


def test_long_names_are_cut_in_the_middle():
    name = "stress in the third member of the truss of the roof"
    row = Constraint(lambda x: np.array([x[0], x[0]]), "<", [1.0, 2.0], name=name)
    result = minimize(lambda x: -x[0], [0.0], constraints=row)
    text = result.report()
    assert max(map(len, text.splitlines())) <= 100
    assert "stress in the third mem…" in text and "roof[1]" in text
    assert f"{name}[1]" in plain(result._repr_html_())


def test_bounds_go_by_the_names_of_their_variables():
    result = minimize(lambda x: x @ x, [2.0, 2.0], bounds=[(1.0, 3.0), (None, None)], names=["a", "b"])
    assert cells(result.report(), "a (bound)")[:7] == ["active", "1", ">", "1", "0", "-2", "+2"]
    assert result.active == ["a = 1 (lower bound)"]


def test_one_per_cent_of_a_row_with_target_zero_is_a_hundredth():
    ratio = Constraint(lambda x: x[0] / 5.0 - 1.0, "<", 0.0, name="ratio")
    text = minimize(lambda x: -x[0], [1.0], constraints=ratio).report()
    assert cells(text, "ratio")[-2:] == ["-5", "-0.05*"]
    assert "* By 0.01, since the target is 0" in text


def test_ten_constraints_fit_a_screen():
    result = minimize(x0=SPEED_REDUCER.start(0), **SPEED_REDUCER.arguments)
    lines = result.report().splitlines()
    assert len(lines) <= 32 and max(map(len, lines)) <= 100
    assert all(f"speed reducer[{i}]" in result.report() for i in range(11))


def test_of_many_constraints_the_active_ones_are_shown():
    rows = Constraint(lambda x: np.append(np.full(60, -9.0), x[0]), "<", 1.0, name="rows")
    result = minimize(lambda x: -x[0], [0.0], constraints=rows)
    text = result.report()
    assert cells(text, "rows[60]")[0] == "active"
    assert "41 more constraints, none of them active or violated" in text
    assert len(text.splitlines()) <= 40


def test_of_many_variables_the_first_are_shown():
    text = minimize(lambda x: x @ x, np.ones(40), jac=lambda x: 2.0 * x).report()
    assert "x[29] = " in text and "x[30] = " not in text and "10 more variables" in text


def test_differenced_derivatives_are_named_with_their_accuracy():
    given = Constraint(lambda x: x[0] * x[1], ">", 25.0, name="area", jac=lambda x: np.array([x[1], x[0]]))
    differenced = Constraint(lambda x: x[1], "<", 4.0, name="depth", jac="3-point")
    result = minimize(
        lambda x: 2.0 * (x[0] + x[1]), [9.0, 1.0], jac="2-point", constraints=[given, differenced]
    )
    assert set(result.differences) == {"objective", "depth"}
    scheme, error, largest = result.differences["objective"]
    # The gradient is (2, 2); rounding of f = 20.5 over steps of 1.5e-8·6.25 may show as 5e-8.
    assert scheme == "2-point" and largest == pytest.approx(2.0, abs=1e-6) and 1e-9 < error < 1e-6
    assert np.abs(result.jac - 2.0).max() <= 10.0 * error
    text = " ".join(result.report().split())
    assert "Derivatives: objective by forward differences; depth by central differences; good to" in text
    exact = minimize(lambda x: x @ x, [1.0], jac=lambda x: 2.0 * x)
    assert exact.differences == {} and "Derivatives" not in exact.report()


def test_failed_points_are_mentioned():
    def model(x):
        if x[0] <= 0.0:
            raise FloatingPointError
        return x[0] - 10.0 * np.log(x[0])

    result = minimize(model, [500.0], jac="3-point")
    assert f"failed at {result.failures} point(s)" in result.report()


# ---------------------------------------------------------------------------------- advice for every status


def clashing():
    return minimize(
        lambda x: x @ x,
        [1.0, 1.0],
        constraints=[
            Constraint(lambda x: x[0] - x[1], "<", 5.0, name="bystander"),
            Constraint(lambda x: x[0] + x[1], "<", 1.0, name="budget"),
            Constraint(lambda x: x[0] + x[1], ">", 4.0, name="enough"),
        ],
    )


def stop(intermediate_result):
    raise StopIteration


def rosenbrock(x):
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2


def fails(x):
    raise RuntimeError("no licence")


def wrong():
    return minimize(lambda x: (x[0] - 1.0) ** 2 + x[1] ** 2, [3.0, 2.0], jac=lambda x: np.array([1.0, 1.0]))


def half_space(**options):
    """The minimum of x subject to x > 1, by one fixed penalty; the multiplier is 1."""
    row = Constraint(lambda x: x[0], ">", 1.0, name="floor")
    return minimize(lambda x: x[0] + 1e-3 * x[0] ** 2, [2.0], method="penalty", constraints=row, **options)


def rough_fence():
    """The fence, measured with an error of about 1e-3."""
    error = np.random.default_rng(5).normal
    area = Constraint(lambda x: x[0] * x[1] * (1.0 + 1e-4 * error()), ">", 25.0, name="area")
    return minimize(
        lambda x: 2.0 * (x[0] + x[1]) * (1.0 + 1e-4 * error()), [9.0, 1.0], constraints=area,
        names=["width", "depth"], noise=1e-4, bounds=[(1.0, 20.0)] * 2,
    )  # fmt: skip


CASES = {
    0: (fence, ["this minimum is local", "softpenalty.search"]),
    1: (lambda: minimize(rosenbrock, [-1.2, 1.0], maxiter=3), ["x0=result.x", "options['maxiter']"]),
    2: (lambda: minimize(rosenbrock, [-1.2, 1.0], maxfev=9), ["x0=result.x", "options['maxfev']"]),
    3: (
        clashing,
        [
            "a linear estimate: budget < 1 by about 3 or enough > 4 by about 3.",
            "another start may be feasible",
        ],
    ),
    4: (
        lambda: minimize(lambda x: x[0] - x[1], [1.0, 1.0], bounds=[(0, 1), (0, None)]),
        ["x[1] = ", "bound"],
    ),
    5: (wrong, ["check_grad", "its stationarity residual is", "Kinks"]),
    6: (lambda: fence(callback=stop), ["Your callback stopped it", "violates area > 25", "x0=result.x"]),
    7: (lambda: minimize(fails, [3.5]), ["Call the objective", "[3.5]", "no licence"]),
    8: (lambda: fence(max_time=1e-9), ["options['max_time']", "x0=result.x"]),
    9: (lambda: half_space(sigma=9.0, alpha=0.1), ["left at floor > 1", "alpha", "method='sqp'"]),
    10: (None, ["through rounding", "give derivatives", "this minimum is local"]),
    11: (lambda: half_space(sigma=0.5, alpha=0.1, bounds=[(-5, 5)]), ["0.5 for floor > 1", "sigma"]),
    12: (None, ["x0=result.x"]),
    14: (None, ["The best point so far meets the constraints", "noise='auto'"]),
    13: (lambda: rough_fence(), ["options['exhaust']", "this minimum is local"]),
}


@pytest.mark.parametrize("status", CASES)
def test_advice(status):
    make, words = CASES[status]
    result = fence() if make is None else make()
    if make is None:
        result["status"] = status
    assert result.status == status, result.message
    text, page = " ".join(result.report().split()), plain(result._repr_html_())
    for word in words:
        assert word in text, text
        assert word in page


def test_noise_is_named_with_what_it_leaves_unknown():
    result = rough_fence()
    text = " ".join(result.report().split())
    assert f"objective {result.fun:.8g} ± {result.uncertainty['fun']:.1g}" in text
    assert f"width = {result.x[0]:.6g} ± {result.uncertainty['x'][0]:.1g}" in text
    assert "Noise seen (standard deviations): objective" in text and "Derivatives" not in text
    assert len(result.history) and np.isfinite(result.history.column("violation")).all()


def test_every_status_has_its_advice():
    assert set(CASES) == set(ADVICE)


def test_a_solve_that_gains_nothing_is_sent_to_its_plot():
    result = fence()
    result["status"] = 1
    row = result.history[-1] | {"stationarity": 0.1, "violation": 0.0}
    result["history"] = type(result.history)([row] * 20)
    assert "look at `result.plot()` first" in " ".join(result.report().split())
    result["history"] = type(result.history)([row | {"stationarity": 0.5**i} for i in range(20)])
    assert "result.plot()" not in result.report()


def test_infeasible_shows_the_most_violated_first():
    result = clashing()
    text = result.report()
    first, second = text.index("violated  enough"), text.index("violated  budget")
    relative = result.violations / np.maximum(1.0, np.abs(result.targets))
    assert (relative[2] > relative[1]) == (first < second)
    assert cells(text, "bystander")[0] == "" and text.index("  bystander ") > max(first, second)
    assert "Cannot hold together: budget < 1, enough > 4" in text


def test_of_many_in_conflict_the_first_are_named():
    total = Constraint(lambda x: x.sum(), ">", 100.0, name="total")
    result = minimize(lambda x: x @ x, np.zeros(30), bounds=[(0.0, 1.0)] * 30, constraints=total)
    assert len(result.conflict) == 31
    words = "total > 100, bounds of x[0], bounds of x[1], bounds of x[2] and 27 more (see `result.conflict`)."
    assert result.message.endswith(f"In conflict: {words}")
    assert f"Cannot hold together: {words}" in " ".join(result.report().split())
    result["relaxation"] = {f"row {i}": 1.0 for i in range(150)}
    text = " ".join(result.report().split())
    assert "row 3 by about 1 and 146 more (see `result.relaxation`)." in text


def test_infeasible_without_a_diagnosis_says_which_targets_would_do():
    result = clashing()
    result["relaxation"] = {}
    values = result.errors + result.targets
    text = " ".join(result.report().split())
    assert f"with the target {values[2]:.6g} for enough > 4 and {values[1]:.6g} for budget < 1" in text


def test_a_solve_without_an_iteration_says_so():
    result = minimize(lambda x: x @ x, [3.0, 1.0], maxfev=1)
    assert result.status == 2 and result.nit == 0
    assert "No iteration could be finished" in result.report() and result._repr_html_()


# -------------------------------------------------------------------------------------------------- notebook


@pytest.mark.parametrize("make", [fence, clashing], ids=["solved", "infeasible"])
def test_html_has_the_same_content(make):
    result = make()
    page = plain(result._repr_html_())
    for line in result.report().splitlines():
        for word in line.split():
            assert word.rstrip(",:") in page, word


def test_html_escapes_names():
    row = Constraint(lambda x: x[0], "<", 1.0, name="<b>bold</b>")
    page = minimize(lambda x: -x[0], [0.0], constraints=row, names=["<i>"])._repr_html_()
    assert "<b>bold" not in page and "&lt;b&gt;bold" in page and "&lt;i&gt;" in page


def test_what_a_callback_gets_has_no_html():
    seen = []
    fence(callback=lambda intermediate_result: seen.append(intermediate_result))
    assert seen and seen[0]._repr_html_() is None
