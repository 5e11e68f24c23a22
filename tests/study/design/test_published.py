"""The published table and its bands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis.strategies import floats

from softpenalty.study.design import experiments, published
from softpenalty.study.design.published import MEDIANS, Band, band


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
