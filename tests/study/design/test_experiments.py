"""The experiments as data: one place for everything that is said of a configuration."""

import subprocess
import sys

import pytest

from softpenalty.study.design.experiments import COLOURS, CONFIGURATIONS, LABELS, STANDARD


def test_every_configuration_has_a_label_of_its_own():
    labels = [LABELS[name] for name in CONFIGURATIONS]
    assert all(labels) and len(set(labels)) == len(labels)
    assert list(COLOURS) == list(CONFIGURATIONS)
    assert list(COLOURS)[: len(STANDARD)] == [configuration.name for configuration in STANDARD]
    assert len({light for light, _ in COLOURS.values()}) == len(COLOURS)


def test_a_configuration_says_its_penalty_once():
    norm = CONFIGURATIONS["algebraic norm"]
    assert norm.penalty == {"kernel": "algebraic", "combination": "norm", "sigma": 15.0, "alpha": 3e-5}


NEW = """
import importlib.util, sys
from pathlib import Path

name = "softpenalty.study.design.experiments"
spec = importlib.util.find_spec(name)
source = Path(spec.origin).read_text(encoding="utf-8")
line = 'Configuration("stiff sum", "Stiff sum", "algebraic", "sum", 99.0, 1e-4, ("#123456", "#fedcba")),'
changed = source.replace("STANDARD = (\\n", "STANDARD = (\\n    " + line + "\\n")
assert changed != source
module = importlib.util.module_from_spec(spec)
sys.modules[name] = module
exec(compile(changed, spec.origin, "exec"), module.__dict__)

from softpenalty.cli import main

assert main(["study", "--samples", "2", "--dimensions", "2", "--workers", "1", "--out", sys.argv[1]]) == 0
"""


@pytest.mark.slow  # a small study with its report
def test_a_new_configuration_is_one_line(tmp_path):
    """A line more in STANDARD: it is run, recorded, drawn, compared and named."""
    pytest.importorskip("numba")
    done = subprocess.run([sys.executable, "-c", NEW, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "report.html").read_text("utf-8")
    assert "--stiff-sum: #123456;" in report and "--stiff-sum: #fedcba;" in report
    assert '<th scope="col">Stiff sum</th>' in report  # beside the solvers and balance
    assert "Stiff sum, dimensions 2: median" in (tmp_path / "figures" / "fig5.svg").read_text("utf-8")
