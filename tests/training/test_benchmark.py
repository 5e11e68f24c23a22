"""The training benchmark: equal trials, the judge, records that go on, an honest page."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the benchmarks live outside the package

for need in ("torch", "cooper", "mdmm", "sklearn"):
    pytest.importorskip(need)

from benchmarks.training_problems import Classifier, Regression  # noqa: E402

from benchmarks import training, training_page  # noqa: E402


@pytest.mark.parametrize("methods", [training.FULL, training.NOISY, training.EQUAL])
def test_every_method_has_the_same_number_of_trials(methods):
    assert {len(method.trials) for method in methods} == {training.TRIALS}


@pytest.mark.parametrize("index", range(5))
def test_every_method_steps(index, monkeypatch):
    monkeypatch.setattr(training, "STEPS", 20)
    method = training.FULL[index]
    before = Classifier(1.0).judge(Classifier(1.0).start(0))
    assert training.settle(Classifier(1.0, batch=64), method, method.trials[-1], 0) < before
    assert training.reach(Classifier(1.0), method, method.trials[-1], 0) == math.inf
    method = training.EQUAL[index]
    assert training.finish(Regression(20), method, method.trials[0], 0) < math.inf


def test_the_judge_accepts_the_solution_only():
    torch = pytest.importorskip("torch")
    problem = Classifier(100.0)
    assert problem.judge(problem.start(0)) > 1.0
    x = problem.start(0)
    con = training.AdaptivePenalty(1, alpha=0.01, sigma=0.01, sigma_min=1e-4, eta=0.1, decay=0.0, rule="log")
    optimizer = torch.optim.Adam([x], lr=0.05)
    for _ in range(600):
        objective, errors = problem.measure(x)
        optimizer.zero_grad()
        (objective + con(errors)).backward()
        optimizer.step()
        con.update()
    assert problem.judge(x) <= 0.01


def test_records_are_not_computed_twice(tmp_path):
    path = tmp_path / "records.jsonl"
    assert training.Records(path).get("a", lambda: math.inf) == math.inf
    assert training.Records(path).get("a", lambda: 1 / 0) == math.inf


def test_the_page_says_what_is_against_us():
    good, bad = [100.0, 100.0], [200.0, math.inf]

    def entry(values):
        return {"trials": [values], "settings": {"rate": 1.0}, "seeds": [values] * 5}

    full = {"softpenalty": entry([150.0, 150.0]), "good": entry(good), "bad": entry(bad)}
    single = {"softpenalty": entry([0.2]), "good": entry([0.1]), "bad": entry([0.3])}
    times = {1: {"softpenalty": 10.0, "Lagrangian": 20.0}}
    rl = {"adaptive": [(-200.0, 0.3)] * 5, "lagrangian": [(-150.0, 0.3)] * 5}
    lines = list(training_page.lines(full, single, single, times, rl, (1.0, 10.0), 8, 1500, 300))
    start, end = (
        lines.index("## What peers do better"),
        lines.index("## One setting, five scales of the objective"),
    )
    against = "\n".join(lines[start:end])
    assert "good, with its one setting, takes fewer steps than our one setting at ×1, ×10." in against
    assert "good is more accurate in mini-batches: 0.1 against 0.2." in against
    assert "PPO-Lagrangian has the higher mean return: -150 against -200." in against
    assert "bad" not in against
    assert "| bad | rate 1.0 | 200 | – | 1 of 2 |" in lines
    assert "| 1 | 10 | 20 | 0.50 |" in lines
