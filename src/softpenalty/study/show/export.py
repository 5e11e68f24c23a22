"""All trials as one table for other programs."""

import csv
from pathlib import Path

from ...extras import install_hint
from .. import StudyError
from ..files import replacing
from ..records import Records

MISSING_PYARROW = f"Parquet needs pyarrow; install it with {install_hint('study')}, or export CSV."


def export_csv(records: Records, path: Path | str) -> Path:
    """Write all trials as CSV, whole or not at all; numbers read back to the same bits."""
    columns = records.select()
    with replacing(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return Path(path)


def export_parquet(records: Records, path: Path | str) -> Path:
    """Write all trials as Parquet, whole or not at all; `meta` goes into the file's metadata."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise StudyError(MISSING_PYARROW) from None
    columns = {
        name: pyarrow.array(column.tolist() if column.dtype.kind == "U" else column)
        for name, column in records.select().items()
    }
    table = pyarrow.table(columns).replace_schema_metadata(records.meta)
    with replacing(Path(path)) as temporary:
        pyarrow.parquet.write_table(table, temporary)
    return Path(path)
