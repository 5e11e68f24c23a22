"""The published table and its bands, our medians beside it, and the check."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats

from softpenalty.study import experiments, published, tables
from softpenalty.study.measured import median_of, resampled_medians, sweeps, table_entries
from softpenalty.study.published import MEDIANS, Band, band
from softpenalty.study.records import RECORDS_NAME, Records
from study.synthetic import Change, Skip, unchanged, write_records


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return opened(tmp_path_factory.mktemp("complete"))


def needless(experiment: str, n: int, name: str) -> bool:
    return experiment in ("exact", "balance")


def opened(folder: Path, samples: int = 500, change: Change = unchanged, skip: Skip = needless) -> Records:
    return Records(write_records(folder, samples, change=change, skip=skip) / RECORDS_NAME)


# ------------------------------------------------------------------------------------------ published


def test_the_table_has_64_cells_of_the_studys_experiments() -> None:
    assert len(MEDIANS) == 128
    assert published.DIMENSIONS == experiments.DIMENSIONS
    assert sorted(published.CONFIGURATIONS) == sorted(c.name for c in experiments.STANDARD)
    assert MEDIANS["planes", 12, "algebraic sum", "iterations"] == 194.5
    assert MEDIANS["spheres", 50, "softplus norm", "error"] == 7.11e-5


def test_one_constraint_makes_norm_and_sum_the_same_in_the_published_table() -> None:
    for n in published.DIMENSIONS:
        for quantity in published.QUANTITIES:
            norm = MEDIANS["spheres", n, "algebraic norm", quantity]
            assert norm == MEDIANS["spheres", n, "algebraic sum", quantity]


@given(width=floats(0.05, 0.5), published_value=floats(1e-6, 1e4), share=floats(0.0, 3.0))
def test_a_band_is_a_factor_up_and_down(width: float, published_value: float, share: float) -> None:
    factor = 1.0 + share * width
    for measured in (published_value * factor, published_value / factor):
        assert Band(width).deviation(measured, published_value) == pytest.approx(share, abs=1e-9)
    low, high = Band(width).limits(published_value)
    assert low * high == pytest.approx(published_value**2)


def test_a_band_of_counts_is_a_distance() -> None:
    assert Band(4, counts=True).deviation(23, 19) == 1.0
    assert Band(4, counts=True).deviation(11, 19) == 2.0
    assert Band(4, counts=True).limits(19) == (15, 23)


def test_no_median_is_outside_every_band() -> None:
    assert Band(0.3).deviation(float("nan"), 1.0) > 2.0
    assert Band(0.3).deviation(0.0, 1.0) > 2.0


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (("planes", 2, "courant-beltrami", "error"), "±35 %"),
        (("planes", 3, "courant-beltrami", "error"), "±30 %"),
        (("planes", 8, "courant-beltrami", "error"), "±35 %"),
        (("planes", 2, "courant-beltrami", "iterations"), "±3"),
        (("planes", 3, "courant-beltrami", "iterations"), "±4"),
        (("planes", 5, "courant-beltrami", "iterations"), "±10 %"),
        (("planes", 50, "algebraic norm", "error"), "±25 %"),
        (("planes", 3, "softplus norm", "iterations"), "±4"),
        (("planes", 32, "algebraic norm", "iterations"), "±30 %"),
        (("planes", 20, "softplus norm", "iterations"), "±22 %"),
        (("planes", 2, "algebraic sum", "error"), "±24 %"),
        (("planes", 20, "algebraic sum", "iterations"), "±20 %"),
        (("planes", 50, "algebraic sum", "iterations"), "±24 %"),
        (("spheres", 2, "softplus norm", "iterations"), "±20 %"),
        (("spheres", 20, "courant-beltrami", "iterations"), "±15 %"),
        (("spheres", 20, "courant-beltrami", "error"), "±20 %"),
    ],
)
def test_bands_are_those_of_the_specification(cell: tuple[str, int, str, str], expected: str) -> None:
    assert str(band(*cell)) == expected


# ------------------------------------------------------------------------------------------- measured


@pytest.mark.parametrize("size", [1, 2, 7, 30, 501])
def test_drawing_middle_ranks_is_the_bootstrap_of_the_median(size: int) -> None:
    values = np.random.default_rng(3).lognormal(size=37)
    resamples = np.random.default_rng(4).choice(values, (10_000, size))
    expected = np.quantile(np.median(resamples, axis=1), [0.1, 0.5, 0.9])
    found = np.quantile(resampled_medians(values, size), [0.1, 0.5, 0.9])
    # 10 000 draws place these quantiles within a rank of 37, here a tenth of the value
    np.testing.assert_allclose(found, expected, rtol=0.12)


def test_the_interval_is_the_same_on_every_call_and_holds_the_median() -> None:
    values = np.random.default_rng(5).lognormal(size=500)
    first = median_of(values)
    assert first == median_of(values[::-1])
    assert first.low < first.value < first.high
    assert first.value == np.median(values)


def test_trials_that_ran_away_do_not_spoil_the_median() -> None:
    values = np.append(np.linspace(1.0, 2.0, 90), np.full(10, np.inf))
    assert np.isfinite(median_of(values).high)


def test_intervals_cover_the_true_median_as_often_as_they_say() -> None:
    generator = np.random.default_rng(6)
    samples = generator.lognormal(size=(400, 101))
    held = np.mean([m.low <= 1.0 <= m.high for m in map(median_of, samples)])
    assert 0.91 < held < 0.98  # 95 % ± 3.6 standard deviations of 400 draws


def test_slopes_of_the_sweeps_are_each_problems_own(complete: Records) -> None:
    assert sweeps(complete, "alpha")["softplus norm"].between(1e-6, 0.1).slope() == pytest.approx(1.0)
    sigma = sweeps(complete, "sigma")
    assert sigma["courant-beltrami"].between(1e1, 1e5).slope() == pytest.approx(-1.0)
    assert sigma["algebraic sum"].between(1e2, 1e5).slope() == pytest.approx(0.5)
    assert sigma["algebraic sum"].local_slopes().size == len(experiments.SIGMAS) - 1


# ---------------------------------------------------------------------------------------------- check


def test_the_check_passes_where_the_medians_are_the_published_ones(complete: Records) -> None:
    check = tables.check(complete)
    assert check.passed, check.lines
    assert check.in_band == 128
    assert "reproduces" in check.lines[-1]


def test_medians_outside_their_bands_are_shown_and_do_not_fail_by_themselves(tmp_path: Path) -> None:
    """Two medians just outside their bands, as two of 128 are now and then by chance."""

    def change(experiment: str, kind: str, n: int, name: str, quantity: str) -> float:
        hit = (experiment, name) == ("planes", "courant-beltrami") and n in (20, 32)
        return 1.12 if hit and quantity == "iterations" else 1.0  # band ±10 %

    check = tables.check(opened(tmp_path, change=change))
    assert check.in_band == 126
    assert any("126 of 128" in line and "N=20" in line and "N=32" in line for line in check.lines)
    assert check.passed, check.lines


def test_one_median_off_by_twice_its_band_is_too_much(tmp_path: Path) -> None:
    def change(experiment: str, kind: str, n: int, name: str, quantity: str) -> float:
        cell = (experiment, n, name, quantity)
        return 1.5 if cell == ("spheres", 12, "courant-beltrami", "iterations") else 1.0

    check = tables.check(opened(tmp_path, change=change))
    assert not check.passed
    assert any(line.startswith("✗ Farthest") and "hypersphere N=12" in line for line in check.lines)
    assert "1 of its 17 points fails (marked ✗)" in check.verdict


def test_many_medians_a_little_off_are_too_much(tmp_path: Path) -> None:
    def change(experiment: str, kind: str, n: int, name: str, quantity: str) -> float:
        return 1.09 if experiment in published.KINDS and quantity == "iterations" else 1.0

    check = tables.check(opened(tmp_path, change=change))
    assert check.in_band > 120
    assert not check.passed
    assert any(line.startswith("✗ All 128 medians together") for line in check.lines)


def test_too_few_samples_are_said(tmp_path: Path) -> None:
    check = tables.check(opened(tmp_path, 60))
    assert not check.passed
    assert not check.judged
    assert any("64 of 64 cells of the table have fewer than 500 samples" in line for line in check.lines)
    assert "Not enough trials" in check.lines[-1]


def test_missing_cells_are_named(tmp_path: Path) -> None:
    check = tables.check(opened(tmp_path, skip=lambda e, n, name: (e, n) == ("planes", 50) or e == "alpha"))
    assert not check.passed
    text = "\n".join(check.lines)
    assert "4 of 64 cells" in text
    assert "sheared hyperplanes N=50, Softplus norm (0)" in text
    assert "alpha sweep" in text
    assert "not measured" in text


def test_a_slope_that_does_not_hold_fails(tmp_path: Path) -> None:
    def change(experiment: str, kind: str, n: int, name: str, quantity: str) -> float:
        return next(growth) if (experiment, name, quantity) == ("alpha", "softplus norm", "error") else 1.0

    growth = iter(1.1 ** np.arange(7))  # α in ascending order: 0.04 on top of a slope of 1
    check = tables.check(opened(tmp_path, change=change))
    assert [line for line in check.lines if line.startswith("✗ Slope")]
    assert not check.passed


def test_a_breakdown_that_does_not_happen_fails(tmp_path: Path) -> None:
    def change(experiment: str, kind: str, n: int, name: str, quantity: str) -> float:
        broken = (experiment, name, quantity) == ("sigma", "courant-beltrami", "error")
        return next(factors) if broken else 1.0

    factors = iter([1.0] * 5 + [1e-5, 1.0])  # undoes the break at 1e6
    check = tables.check(opened(tmp_path, change=change))
    assert [line for line in check.lines if "does not leave the line" in line]
    assert not check.passed


# -------------------------------------------------------------------------------------------- formats


def test_markdown_has_every_figure(complete: Records) -> None:
    text = tables.markdown(table_entries(complete))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 32
    assert len({row.count("|") for row in rows}) == 1
    assert sum(row.count("✓") for row in rows) == 128
    assert "4277" in text
    assert "3.69e-3" in text


def test_latex_is_balanced_and_plain(complete: Records) -> None:
    text = tables.latex(table_entries(complete))
    assert text.isascii()
    assert text.count("{") == text.count("}")
    assert text.count("$") % 2 == 0
    opened_environments = re.findall(r"\\begin\{(.*?)\}", text)
    assert opened_environments == re.findall(r"\\end\{(.*?)\}", text)[::-1]
    columns = len(re.search(r"begin\{tabular\}\{(.*?)\}", text)[1].replace("|", ""))  # type: ignore[index]
    body = [line for line in text.splitlines() if " & " in line and "multicolumn" not in line]
    assert {line.count("&") + 1 for line in body} == {columns}
    assert len(body) == 1 + 32


def test_marks_tell_what_is_outside_and_what_is_missing(tmp_path: Path) -> None:
    def change(experiment: str, kind: str, n: int, name: str, quantity: str) -> float:
        return 2.0 if (experiment, n, name, quantity) == ("planes", 8, "algebraic sum", "error") else 1.0

    entries = table_entries(
        opened(tmp_path, 20, change=change, skip=lambda e, n, name: (e, n) == ("spheres", 2))
    )
    assert tables.markdown(entries).count(" ✗ |") == 1
    assert tables.latex(entries).count("dagger") == 1 + 1  # the cell and the caption
    html = tables.html(entries)
    assert html.count('class="outside"') == 1
    assert html.count('class="missing"') == 8
    assert html.count("<td") == 128
