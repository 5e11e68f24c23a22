"""The command line: one clear line and exit code 2 for bad input, nothing overwritten."""

import os
import subprocess
import sys

import pytest

from softpenalty import __version__, cli
from softpenalty.study.design.experiments import CONFIGURATIONS, EXPERIMENTS
from softpenalty.study.records import RECORDS_NAME, Records

pytest.importorskip("numba")

QUICK = ["--samples", "3", "--experiments", "planes,spheres", "--dimensions", "2", "3"]


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "softpenalty.cli", *map(str, arguments)], capture_output=True, text=True
    )


def test_run_continue_and_export(tmp_path, capsys):
    out = ["--out", str(tmp_path)]
    assert cli.main(["study", "run", *QUICK, *out]) == 0
    assert "48 trials added" in capsys.readouterr().out
    assert cli.main(["study", "run", *QUICK, *out]) == 0
    assert "0 trials added" in capsys.readouterr().out
    assert cli.main(["study", "export", "--format", "csv", *out]) == 0
    assert len((tmp_path / "records.csv").read_text().splitlines()) == 49
    assert not (tmp_path / "records.parquet").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--experiments", "cubes"], "cubes"),
        (["--samples", "-5"], "--samples"),
        (["--samples", "many"], "--samples"),
        (["--dimensions", "7"], "--dimensions"),
        (["--dimensions", "two"], "--dimensions"),
        (["--configurations", "huber"], "huber"),
        (["--seed", "-1"], "--seed"),
        (["--workers", "0"], "--workers"),
        (["--engine", "fortran"], "--engine"),
        (["--problems", "easy"], "--problems"),
        (["--experiments", "alpha", "--dimensions", "2"], "dimensions"),
    ],
)
def test_bad_input_is_one_line(tmp_path, capsys, arguments, words):
    out = tmp_path / "out"
    try:
        code = cli.main(["study", "run", *arguments, "--out", str(out)])
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1 and words in captured.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["study", "run", "--format", "csv"], "--format"),
        (["study", "--format", "csv"], "csv"),
        (["study", "export", "--samples", "3"], "--samples"),
        (["study", "check", "--seed", "1"], "--seed"),
        (["study", "report", "--format", "csv"], "--format"),
        (["study", "--samples", "3", "check"], "--samples is an option of `study run`"),
    ],
)
def test_a_step_takes_its_own_options_only(tmp_path, capsys, arguments, words):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*arguments, "--out", str(tmp_path / "out")])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and words in error
    assert not (tmp_path / "out").exists()


def test_options_before_the_step_count_too(tmp_path, capsys):
    place = str(tmp_path / "out")
    asked = [
        "study",
        "--samples",
        "2",
        "--out",
        place,
        "run",
        "--experiments",
        "spheres",
        "--dimensions",
        "2",
    ]
    assert cli.main(asked) == 0
    assert "8 trials added" in capsys.readouterr().out
    assert cli.main(["study", "--out", place, "export", "--format", "csv"]) == 0


def test_list_says_what_is_on_file(tmp_path, capsys):
    """Two studies in one folder: a part of one experiment, and a whole one."""
    for place in ("a", "b"):
        assert cli.main(["study", "run", *QUICK, "--out", str(tmp_path / place)]) == 0
    capsys.readouterr()
    assert cli.main(["study", "list", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines if "samples a cell" in line] == [
        str(tmp_path / "a"),
        str(tmp_path / "b"),
    ]
    # 3 samples of 2 of 8 dimensions, with 4 configurations
    assert lines[1].split() == ["planes", "24", "of", "96", "25%"]
    assert lines[3].split() == ["sigma", "0", "of", "84", "0%"]
    assert "the rest takes about" in lines[8]


def test_list_of_a_complete_study(tmp_path, capsys):
    samples = ["--samples", "1", "--out", str(tmp_path)]
    assert cli.main(["study", "run", *samples]) == 0
    capsys.readouterr()
    assert cli.main(["study", "list", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].strip() == "complete" and all("100%" in line for line in lines[1:-1])


def test_list_of_nothing(tmp_path, capsys):
    assert cli.main(["study", "list", "--out", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and "No records" in error


@pytest.mark.parametrize("step", [[], ["run"]])
def test_help_lists_all_names(capsys, step):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["study", *step, "--help"])
    assert stopped.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for name in (*EXPERIMENTS, *CONFIGURATIONS):
        assert name in text


@pytest.mark.parametrize("step", [["check"], ["export", "--format", "csv"], ["run", *QUICK]])
def test_a_reader_that_leaves_is_no_error(tmp_path, step):
    """As in ``softpenalty study check | head -1``: the exit code is that of the step."""
    assert cli.main(["study", "run", *QUICK, "--out", str(tmp_path)]) == 0
    command = [sys.executable, "-m", "softpenalty.cli", "study", *step, "--out", tmp_path]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writer)
    assert done.returncode == (1 if step == ["check"] else 0)
    assert "rror" not in done.stderr and "xception" not in done.stderr


@pytest.mark.parametrize("arguments", [[], ["fly"], ["study", "fly"]])
def test_unknown_commands_are_one_line(arguments):
    done = command(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_unusable_folders_are_one_line(tmp_path):
    (tmp_path / "file").write_text("kept")
    done = command("study", "run", *QUICK, "--out", tmp_path / "file")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert (tmp_path / "file").read_text() == "kept"
    for step in ("report", "check", "export"):
        done = command("study", step, "--out", tmp_path / "nothing")
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
        assert "softpenalty study run" in done.stderr


def test_records_of_another_study_are_kept(tmp_path):
    with Records.create(tmp_path / RECORDS_NAME, seed=1, problems="published", engine="numba", samples=1):
        locked = command("study", "run", *QUICK, "--seed", "1", "--out", tmp_path)
    assert locked.returncode == 2 and "Another process" in locked.stderr
    before = (tmp_path / RECORDS_NAME).read_bytes()
    done = command("study", "run", *QUICK, "--out", tmp_path)
    assert done.returncode == 2 and "--seed 1" in done.stderr and len(done.stderr.splitlines()) == 1
    assert (tmp_path / RECORDS_NAME).read_bytes() == before


def test_a_scheduler_that_does_not_answer_is_one_line(tmp_path, monkeypatch, capsys):
    pytest.importorskip("distributed")
    monkeypatch.setattr("softpenalty.study.compute.cluster.ANSWER_SECONDS", 0.5)
    arguments = ["study", "run", *QUICK, "--scheduler", "tcp://127.0.0.1:9", "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) == 1 and "does not answer" in captured.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["foo", "http://localhost:1", "localhost"])
def test_a_scheduler_that_is_no_address_is_one_line(tmp_path, address):
    pytest.importorskip("distributed")
    done = command("study", "run", *QUICK, "--scheduler", address, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and "tcp://host:8786" in done.stderr
    assert not (tmp_path / "out").exists()


def test_interruption_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("softpenalty.study.compute.run.run", stop)
    assert cli.main(["study", "run", "--out", str(tmp_path)]) == 130
    assert "same command" in capsys.readouterr().err


def test_help_and_version_are_quick():
    assert command("--version").stdout.strip() == f"softpenalty {__version__}"
    code = (
        "import sys; from softpenalty import cli\n"
        "try: cli.main(['study', '--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'numpy', 'scipy', 'numba', 'matplotlib', 'rich'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--scheduler" in done.stdout and "2021" in done.stdout


def test_a_missing_library_is_named_before_the_run(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; "  # its import then fails as if it were not installed
        "from softpenalty.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    asked = ["study", "--samples", "1", "--out", str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-c", code, *asked], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("softpenalty: error: matplotlib is missing")
    assert "pip install 'softpenalty[study]'" in done.stderr and "pip install '.[study]'" in done.stderr
    assert not (tmp_path / "out").exists()
