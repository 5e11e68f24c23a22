"""All trials as CSV and Parquet."""

import csv
import sys

import pytest

from softpenalty.study import StudyError
from softpenalty.study.records import RECORDS_NAME, Records
from softpenalty.study.show.export import export_csv, export_parquet
from study.synthetic import write_records


@pytest.fixture
def filled(tmp_path):
    return write_records(tmp_path / "out", 3, skip=lambda experiment, n, name: n > 3) / RECORDS_NAME


def test_csv_reads_back_to_the_last_bit(filled, tmp_path):
    with Records(filled) as records:
        export_csv(records, tmp_path / "new" / "trials.csv")
        columns = records.select()
    with (tmp_path / "new" / "trials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["distance"]) for row in rows] == columns["distance"].tolist()
    assert [row["configuration"] for row in rows] == columns["configuration"].tolist()
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["trials.csv"]


def test_parquet_reads_back_to_the_last_bit(filled, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    with Records(filled) as records:
        export_parquet(records, tmp_path / "trials.parquet")
        columns, meta = records.select(), records.meta
    table = parquet.read_table(tmp_path / "trials.parquet")
    for name, column in columns.items():
        assert table[name].to_pylist() == column.tolist()
    assert table.schema.metadata[b"seed"].decode() == meta["seed"]


def test_parquet_without_pyarrow_names_the_extra(filled, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with Records(filled) as records, pytest.raises(StudyError, match=r"softpenalty\[study\]"):
        export_parquet(records, tmp_path / "trials.parquet")
    assert not (tmp_path / "trials.parquet").exists()
