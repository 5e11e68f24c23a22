"""One SQLite file holds a study: one row a trial, and what was run, when and on what.

The file is written in transactions as chunks of trials finish, so a study killed at any moment goes on
where it was.

Examples
--------
>>> import tempfile
>>> from pathlib import Path
>>> folder = tempfile.TemporaryDirectory()
>>> path = Path(folder.name) / RECORDS_NAME
>>> trial = Trial("planes", "planes", 2, 0, 2021, "algebraic sum", "algebraic", "sum",
...               15.0, 3e-5, 1, 1.7e-4, 18, 95, "converged")
>>> with Records.create(path, seed=2021, problems="published", engine="numba", samples=1) as records:
...     records.append([trial])
1
>>> with Records(path) as records:
...     records.select(experiment="planes")["iterations"]
array([18])
>>> folder.cleanup()
"""

import os
import platform
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, get_type_hints

import numpy as np

from . import StudyError
from .files import replacing

SCHEMA_VERSION = "1"
RECORDS_NAME = "records.sqlite"
_VERSIONED = ("softpenalty", "numpy", "scipy", "numba")
_FOREIGN = "{} is not a records file of softpenalty; choose another --out."
_PAGE = 4096  # bytes; SQLite's first page holds the schema as text
_MARKS = (b"SQLite format 3", b"CREATE TABLE meta (key TEXT PRIMARY KEY", b"CREATE TABLE trials")
_LOCK_SECONDS = 30.0  # how long a reader or writer waits for another's transaction


class Trial(NamedTuple):
    """One row: a problem solved with one configuration.

    Attributes
    ----------
    experiment, kind : str
        Name of the experiment ("planes", "spheres", "sigma", "alpha", ...) and of the problem ("planes",
        "spheres").
    dimension, problem, seed : int
        N, index of the problem, seed of the study; with `kind` they draw the problem again.
    configuration, kernel, combination : str
        Name of the configuration, and what it stands for.
    sigma, alpha : float
        Parameters of the penalty; alpha is 0 where the kernel has none.
    feasible : int
        0 where no point satisfies all constraints.
    distance : float
        ‖x − solution‖ at the end point; infinite where the end point is not finite.
    iterations, evaluations : int
        Steps of the optimizer; values of the penalized function, those of the differences included.
    status : str
        Why the optimizer stopped.
    """

    experiment: str
    kind: str
    dimension: int
    problem: int
    seed: int
    configuration: str
    kernel: str
    combination: str
    sigma: float
    alpha: float
    feasible: int
    distance: float
    iterations: int
    evaluations: int
    status: str


_TYPES = get_type_hints(Trial)
_SQL_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL"}
_NUMPY_TYPES = {str: np.str_, int: np.int64, float: np.float64}
_GROUP = ("experiment", "kind", "dimension", "configuration", "sigma", "alpha")
_ORDER = "experiment, kind, dimension, sigma, alpha, configuration, problem"
_SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trials (
    {", ".join(f"{name} {_SQL_TYPES[kind]} NOT NULL" for name, kind in _TYPES.items())},
    PRIMARY KEY (experiment, kind, dimension, problem, configuration, sigma, alpha)
) WITHOUT ROWID;
"""

Group = tuple[str, str, int, str, float, float]
"""(experiment, kind, dimension, configuration, sigma, alpha): the trials that share a median."""


class Records:
    """A study on file, opened for reading; `create` opens it for writing.

    Parameters
    ----------
    path : Path or str
        The SQLite file; it must exist.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._closing = ExitStack()
        if _is_missing(self.path):
            raise StudyError(f"No records at {self.path}; run `{self._command}`.")
        _refuse_foreign(self.path)
        with self._closing_on_error():
            self._connection = self._closing.enter_context(_reading(self.path))
            self._check_schema()

    @classmethod
    def create(cls, path: Path | str, *, seed: int, problems: str, engine: str, samples: int) -> Self:
        """Open `path` for writing, created when missing; one writer at a time.

        A file of another schema version, seed, problems mode or engine is refused and left as it is.

        Parameters
        ----------
        path : Path or str
            The SQLite file; its folder is created.
        seed : int
            Seed of the study.
        problems : {"published", "corrected"}
            What is done with infeasible problems.
        engine : {"numba", "scipy"}
            What computes the trials.
        samples : int
            Problems per cell; a file of fewer is continued.
        """
        path = Path(path)
        settings = {"seed": str(seed), "problems": problems, "engine": engine}
        records = cls.__new__(cls)
        records.path, records._closing = path, ExitStack()
        if not _is_missing(path):
            _refuse_foreign(path)  # before anything is written beside it
        with records._closing_on_error():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                records._closing.enter_context(closing(_lock(path)))
            except (OSError, sqlite3.OperationalError) as error:
                reason = getattr(error, "strerror", None) or error
                raise StudyError(f"Cannot write to the folder {path.parent}: {reason}.") from None
            if _is_missing(path):
                _create_atomically(path, settings)
            records._connection = records._closing.enter_context(closing(_connect(path, "mode=rw")))
            records._check_schema()
            records._check_settings(settings)
            records._connection.execute("PRAGMA synchronous = NORMAL")
            with records._transaction() as connection:
                known = int(records.meta.get("samples", 0))
                _set_meta(connection, {"samples": str(max(known, samples)), **_versions()})
        return records

    @property
    def meta(self) -> dict[str, str]:
        """What was run, when and on what.

        Keys: schema, seed, problems, engine, samples, created, machine, cores, python, softpenalty, numpy,
        scipy, numba, wall_seconds, cpu_seconds (the last two summed over continued runs).
        """
        return dict(self._connection.execute("SELECT key, value FROM meta ORDER BY key"))

    def append(self, trials: Iterable[Trial], *, wall_seconds: float = 0.0, cpu_seconds: float = 0.0) -> int:
        """Write `trials` and the time they took in one transaction; returns how many were new."""
        places = ", ".join("?" * len(Trial._fields))
        with self._transaction() as connection:
            before = connection.total_changes
            connection.executemany(f"INSERT INTO trials VALUES ({places}) ON CONFLICT DO NOTHING", trials)
            added = connection.total_changes - before
            meta = self.meta
            spent = {"wall_seconds": wall_seconds, "cpu_seconds": cpu_seconds}
            _set_meta(connection, {key: f"{float(meta[key]) + value:.3f}" for key, value in spent.items()})
        return added

    def select(
        self,
        *,
        experiment: str | None = None,
        kind: str | None = None,
        dimension: int | None = None,
        configuration: str | None = None,
        sigma: float | None = None,
        alpha: float | None = None,
        feasible: bool | None = None,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Columns of the trials that match, as arrays of equal length.

        Ordered by experiment, kind, dimension, sigma, alpha, configuration and problem, so the same trials
        always come in the same order.
        """
        wanted = {
            "experiment": experiment,
            "kind": kind,
            "dimension": None if dimension is None else int(dimension),
            "configuration": configuration,
            "sigma": None if sigma is None else float(sigma),
            "alpha": None if alpha is None else float(alpha),
            "feasible": None if feasible is None else int(feasible),
        }
        wanted = {key: value for key, value in wanted.items() if value is not None}
        where = " AND ".join(f"{key} = ?" for key in wanted) or "1"
        rows = self._connection.execute(
            f"SELECT {', '.join(Trial._fields)} FROM trials WHERE {where} ORDER BY {_ORDER}",
            tuple(wanted.values()),
        ).fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * len(Trial._fields)
        return {
            name: np.array(column, dtype=_NUMPY_TYPES[kind_of])
            for (name, kind_of), column in zip(_TYPES.items(), columns, strict=True)
        }

    def existing(self) -> dict[Group, set[int]]:
        """Indices of the problems on file, by group of trials."""
        found: dict[Group, set[int]] = {}
        for *group, problem in self._connection.execute(f"SELECT {', '.join(_GROUP)}, problem FROM trials"):
            found.setdefault(tuple(group), set()).add(problem)
        return found

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM trials").fetchone()[0])

    def close(self) -> None:
        """Close the file and let another process write it."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _closing_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    @property
    def _command(self) -> str:
        return f"softpenalty study run --out {self.path.parent}"

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _check_schema(self) -> None:
        try:
            found = self.meta.get("schema")
        except sqlite3.OperationalError as error:
            raise StudyError(
                f"{self.path} cannot be read ({error}); if a run was killed, `{self._command}` repairs it."
            ) from None
        except sqlite3.DatabaseError:
            raise StudyError(_FOREIGN.format(self.path)) from None
        if found != SCHEMA_VERSION:
            raise StudyError(
                f"{self.path} has schema version {found}, this program writes {SCHEMA_VERSION}; "
                "choose another --out or move the file away."
            )

    def _check_settings(self, settings: dict[str, str]) -> None:
        meta = self.meta
        for key, value in settings.items():
            if meta.get(key) != value:
                raise StudyError(
                    f"{self.path} was run with --{key} {meta.get(key)}, not {value}; "
                    f"choose another --out or give --{key} {meta.get(key)}."
                )


def _is_missing(path: Path) -> bool:
    """Whether there are no records at `path`; a file without any content holds none."""
    return not path.is_file() or path.stat().st_size == 0


def _refuse_foreign(path: Path) -> None:
    """Refuse a file whose first page is not that of records.

    Read without SQLite, which may leave files beside another program's database by opening it.
    """
    with path.open("rb") as file:
        page = file.read(_PAGE)
    if not all(mark in page for mark in _MARKS):
        raise StudyError(_FOREIGN.format(path))


def _connect(path: Path, query: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{query}"
    return sqlite3.connect(uri, uri=True, timeout=_LOCK_SECONDS, isolation_level=None)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that sees all that was committed, also where the folder cannot be written.

    What a killed writer left is in the write-ahead log beside the file. To read it, SQLite needs a third file
    that it may have to create; where it cannot, both are read from a copy.
    """
    log = path.with_name(path.name + "-wal")
    with ExitStack() as stack:
        if os.access(path.parent, os.W_OK):
            query = "mode=ro"
        elif _is_missing(log):
            query = "immutable=1"
        else:
            query = "mode=ro"
            try:
                with closing(_connect(path, query)) as trial:
                    trial.execute("SELECT count(*) FROM meta").fetchone()
            except sqlite3.OperationalError:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="softpenalty-")))
                for source in (path, log):
                    shutil.copyfile(source, folder / source.name)
                path, query = folder / path.name, "mode=rw"
        yield stack.enter_context(closing(_connect(path, query)))


def _lock(path: Path) -> sqlite3.Connection:
    """Keep other writers out until closed or until the process dies, on any platform SQLite knows."""
    lock = sqlite3.connect(path.with_name(path.name + ".lock"), timeout=0.0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise
        raise StudyError(
            f"Another process is writing {path}; wait for it to end, or choose another --out."
        ) from None
    return lock


def _create_atomically(path: Path, settings: dict[str, str]) -> None:
    with replacing(path) as temporary:
        connection = sqlite3.connect(temporary)
        # Here, not when the file is opened: a run killed at that moment would leave a file to be repaired.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(_SCHEMA)
        created = {
            "schema": SCHEMA_VERSION,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_seconds": "0",
            "cpu_seconds": "0",
        }
        _set_meta(connection, settings | created)
        connection.commit()
        connection.close()


def _set_meta(connection: sqlite3.Connection, values: dict[str, str]) -> None:
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _versions() -> dict[str, str]:
    versions = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "cores": str(os.cpu_count()),
    }
    for name in _VERSIONED:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "missing"
    return versions


def _processor() -> str:
    """Name of the processor: `platform.processor()` is empty on most Linux systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
