"""The records file: what is written is read back, and nothing else is ever overwritten."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from softpenalty.study import StudyError
from softpenalty.study.records import RECORDS_NAME, Records, Trial

SETTINGS = {"seed": 2021, "problems": "published", "engine": "numba", "samples": 3}


def trial(problem=0, **changes):
    row = Trial(
        "planes", "planes", 2, problem, 2021, "algebraic sum", "algebraic", "sum",
        15.0, 3e-5, 1, 0.1 + problem / 3.0, 18, 95, "converged",
    )  # fmt: skip
    return row._replace(**changes)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out" / RECORDS_NAME


@pytest.fixture
def filled(path):
    with Records.create(path, **SETTINGS) as records:
        records.append([trial(i) for i in (2, 0, 1)], wall_seconds=1.5, cpu_seconds=2.5)
        records.append([trial(0, configuration="courant-beltrami", alpha=0.0, distance=np.inf)])
    return path


def test_rows_come_back_in_one_order_and_to_the_last_bit(filled):
    with Records(filled) as records:
        assert len(records) == 4
        columns = records.select(configuration="algebraic sum", alpha=3e-5, dimension=2)
        assert columns["problem"].tolist() == [0, 1, 2]
        assert columns["distance"].tolist() == [0.1, 0.1 + 1 / 3, 0.1 + 2 / 3]
        assert columns["status"].tolist() == ["converged"] * 3
        assert np.isinf(records.select(configuration="courant-beltrami")["distance"]).all()
        assert all(column.size == 0 for column in records.select(experiment="none").values())


def test_a_row_is_written_once(filled):
    with Records.create(filled, **SETTINGS) as records:
        assert records.append([trial(0, distance=9.0), trial(3)]) == 1
        assert len(records) == 5
        assert records.select(configuration="algebraic sum")["distance"][0] == 0.1


def test_existing_lists_the_problems_of_each_group(filled):
    with Records(filled) as records:
        existing = records.existing()
    assert existing["planes", "planes", 2, "algebraic sum", 15.0, 3e-5] == {0, 1, 2}
    assert existing["planes", "planes", 2, "courant-beltrami", 15.0, 0.0] == {0}


def test_meta_says_what_was_run_and_sums_the_time(filled):
    with Records.create(filled, **(SETTINGS | {"samples": 2})) as records:
        records.append([], wall_seconds=1.0, cpu_seconds=1.0)
        meta = records.meta
    assert (meta["seed"], meta["problems"], meta["engine"]) == ("2021", "published", "numba")
    assert meta["samples"] == "3"  # the most that were asked for
    assert float(meta["wall_seconds"]) == 2.5 and float(meta["cpu_seconds"]) == 3.5
    assert {"created", "machine", "cores", "python", "numpy", "scipy", "numba", "schema"} <= meta.keys()


@pytest.mark.parametrize("change", [{"seed": 1}, {"problems": "corrected"}, {"engine": "scipy"}])
def test_a_file_of_other_settings_is_refused(filled, change):
    before = filled.read_bytes()
    with pytest.raises(StudyError, match=f"--{next(iter(change))}"):
        Records.create(filled, **(SETTINGS | change))
    assert filled.read_bytes() == before


@pytest.mark.parametrize("opening", [Records, lambda path: Records.create(path, **SETTINGS)])
def test_a_file_of_another_version_is_refused(filled, opening):
    connection = sqlite3.connect(filled)
    connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    connection.commit()
    connection.close()
    with pytest.raises(StudyError, match="schema version 99"):
        opening(filled)


@pytest.mark.parametrize("opening", [Records, lambda path: Records.create(path, **SETTINGS)])
def test_a_file_of_another_program_is_refused_and_kept(path, opening):
    path.parent.mkdir()
    path.write_text("my thesis, the only copy")
    with pytest.raises(StudyError, match="not a records file"):
        opening(path)
    assert path.read_text() == "my thesis, the only copy"


def test_a_second_writer_is_refused_and_readers_are_not(filled):
    with Records.create(filled, **SETTINGS):
        with pytest.raises(StudyError, match="Another process"):
            Records.create(filled, **SETTINGS)
        with Records(filled) as reader:
            assert len(reader) == 4
    Records.create(filled, **SETTINGS).close()


def test_a_failed_append_leaves_nothing(filled):
    with Records.create(filled, **SETTINGS) as records:
        with pytest.raises(sqlite3.IntegrityError):
            records.append([trial(7), trial(8, distance=None)])
        assert len(records) == 4


def test_missing_records_and_bad_folders_are_named(tmp_path):
    with pytest.raises(StudyError, match="softpenalty study run"):
        Records(tmp_path / RECORDS_NAME)
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="Cannot write to the folder"):
        Records.create(tmp_path / "file" / RECORDS_NAME, **SETTINGS)


# ------------------------------------------------------------------------------- files of others, and kills


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
@pytest.mark.parametrize("opening", [Records, lambda path: Records.create(path, **SETTINGS)])
def test_a_database_of_another_program_is_left_as_it_is(path, opening, mode):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE theses (only_copy TEXT)")
        connection.commit()
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    with pytest.raises(StudyError, match="not a records file"):
        opening(path)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_a_file_of_another_version_is_left_as_it_is(filled):
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
        connection.commit()
    before = filled.read_bytes()
    with pytest.raises(StudyError, match="schema version 99"):
        Records.create(filled, **SETTINGS)
    assert filled.read_bytes() == before


def test_an_empty_file_holds_no_records(path):
    path.parent.mkdir()
    path.touch()
    with pytest.raises(StudyError, match=r"No records at .* run `softpenalty study run --out"):
        Records(path)
    with Records.create(path, **SETTINGS) as records:
        assert records.append([trial()]) == 1


def test_a_file_to_be_repaired_says_how(filled, tmp_path):
    """A writer that dies while it switches the file to its log leaves a journal for writers only."""
    killed = tmp_path / "killed" / RECORDS_NAME
    killed.parent.mkdir()
    with closing(sqlite3.connect(filled, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA cache_size = 1")  # pages are written before the transaction ends
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE filler AS SELECT randomblob(9999) FROM meta")
        connection.execute("UPDATE meta SET value = '7' WHERE key = 'wall_seconds'")
        for name in (RECORDS_NAME, RECORDS_NAME + "-journal"):
            shutil.copyfile(filled.with_name(name), killed.with_name(name))
    with pytest.raises(StudyError, match=r"`softpenalty study run --out .*` repairs it"):
        Records(killed)
    Records.create(killed, **SETTINGS).close()
    with Records(killed) as records:
        assert len(records) == 4


def test_a_new_file_needs_no_repair_whenever_its_writer_dies(path):
    """It is whole and in its final mode before it has its name."""
    modes = []
    replace = Path.replace

    def look(self, target):
        modes.append(self.read_bytes()[18:20])  # 2: write-ahead log
        return replace(self, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", look)
        Records.create(path, **SETTINGS).close()
    assert modes == [b"\x02\x02"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("shared", [True, False], ids=["with its shared memory", "without"])
def test_a_folder_without_write_access_shows_what_is_in_the_log(shared):
    """Rows that a killed writer left in the write-ahead log, read by someone who may only read."""
    read = (
        "import os, sys; from softpenalty.study.records import Records\n"
        "os.getuid() or os.setuid(65534)\n"  # the superuser may write anywhere; nobody may not
        "with Records(sys.argv[1]) as records: print(len(records))"
    )
    folder = Path(tempfile.mkdtemp())  # pytest's own may be entered by their owner only
    try:
        with Records.create(folder / "writer" / RECORDS_NAME, **SETTINGS) as records:
            records.append([trial()])
            files = [RECORDS_NAME, RECORDS_NAME + "-wal"] + [RECORDS_NAME + "-shm"] * shared
            (folder / "killed").mkdir()
            for name in files:
                shutil.copyfile(folder / "writer" / name, folder / "killed" / name)
        folder.chmod(0o755)
        (folder / "killed").chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", read, folder / "killed" / RECORDS_NAME], capture_output=True, text=True
        )
        assert done.stdout == "1\n", done.stderr
        assert sorted(file.name for file in (folder / "killed").iterdir()) == sorted(files)
    finally:
        (folder / "killed").chmod(0o755)
        shutil.rmtree(folder)
