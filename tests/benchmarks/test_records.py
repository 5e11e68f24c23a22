import json

import pytest

from benchmarks import records

RECORD = {
    "problem": "P",
    "variant": "plain",
    "solver": "s",
    "repetition": 0,
    "version": "1",
    "own": float("inf"),
}


def test_records_come_back(tmp_path):
    path = tmp_path / "deep" / "file.jsonl"
    assert records.read(path) == []
    records.append(path, RECORD)
    records.append(path, RECORD | {"repetition": 1})
    assert records.read(path) == [RECORD, RECORD | {"repetition": 1}]
    assert records.key(RECORD) != records.key(RECORD | {"version": "2"})


@pytest.mark.parametrize("torn", ['{"problem": "Q", "var', '{"problem": "Q"}', '{"pro\n'])
def test_torn_last_line_is_dropped_and_the_file_can_grow_again(tmp_path, torn):
    path = tmp_path / "file.jsonl"
    path.write_text(json.dumps(RECORD) + "\n" + torn)
    before = path.read_text()
    assert records.read(path) == [RECORD]
    assert path.read_text() == before  # a reader changes nothing
    with records.writing(path) as found:
        assert found == [RECORD]
        records.append(path, RECORD | {"repetition": 1})
    assert len(records.read(path)) == 2


def test_a_second_run_neither_repairs_nor_writes(tmp_path):
    path = tmp_path / "file.jsonl"
    with records.writing(path):
        path.write_text(json.dumps(RECORD) + "\n" + '{"half of a rec')  # the first run is just writing
        with pytest.raises(ValueError, match="another run"), records.writing(path):
            pass
        assert path.read_text().endswith("half of a rec")
    with records.writing(path) as found:
        assert found == [RECORD]


def test_torn_line_elsewhere_is_an_error(tmp_path):
    path = tmp_path / "file.jsonl"
    path.write_text("nonsense\n" + json.dumps(RECORD) + "\n")
    with pytest.raises(ValueError, match="line 1"):
        records.read(path)
