"""The paper's claims, judged by the records and by nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softpenalty.study.design import published
from softpenalty.study.judge import claims
from softpenalty.study.judge.claims import Verdict
from softpenalty.study.judge.facts import Facts
from study.synthetic import read_facts


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    return read_facts(tmp_path_factory.mktemp("complete"))


def test_claims_are_computed_from_the_records(complete: Facts, tmp_path: Path) -> None:
    first = claims.headline_claims(complete)[0]
    assert first.verdict is Verdict.PARTLY  # the published medians give a fifth to the norms only
    assert "5.0× those of algebraic norm" in first.measured

    def change(experiment: str, kind: str, n: int, name: str, quantity: str) -> float:
        return 0.1 if name == "courant-beltrami" and quantity == "iterations" else 1.0

    judged = claims.headline_claims(read_facts(tmp_path, 20, change=change))
    assert judged[0].verdict is Verdict.FAILS
    assert "0.5× those of algebraic norm" in judged[0].measured
    assert judged[1].verdict is Verdict.FAILS


def test_contradictions_with_the_text_are_said(complete: Facts) -> None:
    judged = claims.contradictions(complete)
    assert [claim.verdict for claim in judged] == [Verdict.FAILS] * 4
    assert "+0.50" in judged[1].measured
    assert "0.125" in judged[3].measured


def test_contradictions_depend_on_the_records(tmp_path: Path) -> None:
    """Where the error falls with sigma and no problem is lost, the text is right, and is not contradicted."""

    def change(experiment: str, kind: str, n: int, name: str, quantity: str) -> float:
        smooth = experiment == "sigma" and name != "courant-beltrami" and quantity == "error"
        return next(factors[name]) if smooth else 1.0

    factors = {name: iter(10.0 ** -np.arange(7.0)) for name in published.SMOOTH}  # a decade a decade of sigma
    facts = read_facts(tmp_path, 20, change=change, lost=0.0)
    _, falls, limit, _ = claims.contradictions(facts)
    assert falls.verdict is limit.verdict is Verdict.HOLDS
    assert "grow" not in falls.measured
    assert "falls" in falls.measured
    assert "0.0 % algebraic norm" in limit.measured


def test_the_limit_is_not_judged_without_its_sweep(tmp_path: Path) -> None:
    facts = read_facts(tmp_path, 20, skip=lambda experiment, n, name: experiment == "sigma")
    assert claims.contradictions(facts)[2].verdict is Verdict.UNKNOWN


def test_mean_errors_are_those_of_the_integrals() -> None:
    # ∫|1−2r|/√(r(1−r)) dr = 4(½ − √(0.05·0.95)) over 0.05…0.95, divided by its length
    algebraic = 0.1 * 4.0 * (0.5 - np.sqrt(0.05 * 0.95)) / 0.9
    means = claims.mean_errors()
    assert means["algebraic"] == pytest.approx(algebraic, rel=1e-3)
    assert means["quadratic"] == pytest.approx(0.25)
