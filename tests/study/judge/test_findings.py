"""Findings of our own, with the numbers behind them."""

from __future__ import annotations

import pytest

from softpenalty.study.judge import findings
from softpenalty.study.judge.facts import Facts
from study.synthetic import nothing, read_facts


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    return read_facts(tmp_path_factory.mktemp("complete"), skip=nothing)


def test_findings_carry_measured_numbers(complete: Facts) -> None:
    found = {finding.title: finding for finding in findings.findings(complete)}
    summary = findings.balance_summary(complete)
    infeasible = found["Some hyperplane problems have no feasible point"].grid
    assert infeasible is not None
    assert infeasible.rows[2][:3] == ("5", "12 of 500", "2.4 %")
    differences = found["Part of the hypersphere's advantage is a finite-difference effect"]
    assert "2.3–7.3 times to 0.9–2.9 times" in differences.text
    fraying = found["Courant-Beltrami frays before it breaks"]
    assert "−1.000" in fraying.text
    assert fraying.grid is not None
    assert fraying.grid.rows[4] == ("10⁵", "5.39e-5", "0 %", "1×")
    assert len(summary) == 1 + 4
    assert all("1000 times smaller" in sentence for sentence in summary[1:])
