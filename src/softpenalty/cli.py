"""The command `softpenalty`: run the paper's study, show it, check it, export it; open the explorer.

Bad input ends with one line on stderr and exit code 2, an interrupted run with 130, a study that does not
reproduce the paper (``softpenalty study check``) and an explorer that no browser opens with 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from . import __version__
from .explore import PAGE
from .extras import install_hint
from .study import StudyError
from .study.design.experiments import CONFIGURATIONS, EXPERIMENTS
from .study.design.published import DIMENSIONS
from .study.design.settings import DEFAULT_SAMPLES, DEFAULT_SEED, ENGINES, MODES

if TYPE_CHECKING:
    from .study.compute.run import Progress

BAD_INPUT, INTERRUPTED, NOT_REPRODUCED, NOT_OPENED = 2, 130, 1, 1
PLAIN_PROGRESS_SECONDS = 5.0
OPTIONAL = ("matplotlib", "pyarrow", "distributed", "numba")  # what the extra `study` brings

STEPS = {
    "run": "compute the trials that are missing on file",
    "report": "write tables, figures and report.html from the file",
    "check": "compare with the paper; exit code 0 only if it is reproduced",
    "export": "write the trials as CSV and Parquet",
    "list": "say what is on file, how complete it is and how long the rest takes",
}
DEFAULTS = {
    "out": Path("study-output"),
    "samples": DEFAULT_SAMPLES,
    "experiments": None,
    "dimensions": None,
    "configurations": None,
    "seed": DEFAULT_SEED,
    "engine": None,
    "problems": MODES[0],
    "workers": None,
    "scheduler": None,
    "format": None,
}


class _Format(argparse.HelpFormatter):
    """Names with a hyphen stay whole."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    asked = _parsed(arguments)
    import sqlite3

    try:
        return _study(asked) if asked.command == "study" else _explore(asked.file)
    except StudyError as error:
        message = str(error)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        message = f"{error.name} is missing; install it with {install_hint('study')}."
    except sqlite3.Error as error:
        message = f"{asked.out}: the records file cannot be used: {error}."
    except OSError as error:
        message = f"{error.filename or asked.out}: {error.strerror or error}."
    except KeyboardInterrupt:
        print(
            f"\nStopped. What is finished is safe in {asked.out}; the same command goes on from there.",
            file=sys.stderr,
        )
        return INTERRUPTED
    print(f"softpenalty: error: {' '.join(message.split())}", file=sys.stderr)
    return BAD_INPUT


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for, with the defaults of what was not."""
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    if given.get("step") not in (None, "run"):  # options of a run may stand before the step too
        stray = given.keys() - {"command", "step", "out", "format"}
        if stray:
            parser.error(f"--{min(stray)} is an option of `study run`, not of `study {given['step']}`")
    return argparse.Namespace(**(DEFAULTS | given))


def _parser() -> _Parser:
    parser = _Parser(prog="softpenalty", description="Optimization with smooth penalty functions.")
    parser.add_argument("--version", action="version", version=f"softpenalty {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="study|explore")
    study = commands.add_parser(
        "study",
        parents=[_place(), _running()],
        formatter_class=_Format,
        help="reproduce the paper's experiments",
        description="Reproduce the paper's experiments and figures. Without a step: run, then report.",
        epilog="A run that was stopped goes on where it was; more --samples add only the missing trials. "
        "Several names follow each other or stand with commas, those of two words in quotes.",
    )
    steps = study.add_subparsers(dest="step", metavar="|".join(STEPS), title="steps")
    own = {"run": [_running()], "export": [_exporting()]}
    for name, text in STEPS.items():
        parents = [_place(), *own.get(name, [])]
        steps.add_parser(name, parents=parents, formatter_class=_Format, help=text, description=f"{text}.")
    text = "open a page in the browser that shows what alpha, sigma and the gradient do"
    explore = commands.add_parser("explore", formatter_class=_Format, help=text, description=f"{text}.")
    explore.add_argument("--out", dest="file", type=Path, help="write the page to this file instead")
    return parser


def _shared() -> _Parser:
    """Options of more than one command; one that is not given is absent, not hidden by another's default."""
    return _Parser(add_help=False, argument_default=argparse.SUPPRESS)


def _place() -> _Parser:
    options = _shared()
    options.add_argument("--out", type=Path, help=f"folder of everything (default: {DEFAULTS['out']})")
    return options


def _running() -> _Parser:
    options = _shared()
    add = options.add_argument_group("what is run, and where").add_argument
    add("--samples", type=int, help=f"problems per cell (default: {DEFAULTS['samples']})")
    for option, metavar, names in (
        ("experiments", "NAME", EXPERIMENTS),
        ("dimensions", "N", map(str, DIMENSIONS)),
        ("configurations", "NAME", CONFIGURATIONS),
    ):
        known = ", ".join(f"'{name}'" if " " in name else name for name in names)
        add(f"--{option}", nargs="+", metavar=metavar, help=f"only some of: {known} (default: all)")
    add("--seed", type=int, help=f"seed of the study (default: {DEFAULTS['seed']})")
    add("--engine", choices=ENGINES, help="default: numba if it is installed")
    add(
        "--problems",
        choices=MODES,
        help="keep infeasible problems as the author did, or draw them again "
        f"(default: {DEFAULTS['problems']})",
    )
    add("--workers", type=int, metavar="COUNT", help="default: as many as there are cores")
    add("--scheduler", metavar="tcp://HOST:PORT", help="compute on this Dask cluster instead")
    return options


def _exporting() -> _Parser:
    options = _shared()
    options.add_argument("--format", choices=("csv", "parquet"), help="default: both")
    return options


def _explore(file: Path | None) -> int:
    """Open the explorer in a browser, or write it to a file."""
    if file is not None:
        from .study.files import write_whole

        _say(f"Explorer: {write_whole(file, PAGE.read_bytes())}")
        return 0
    import webbrowser

    if webbrowser.open(PAGE.as_uri()):
        _say(f"Opened {PAGE} in the browser.")
        return 0
    print(
        f"softpenalty: no browser could be opened; open {PAGE} in one, or copy it with "
        "`softpenalty explore --out FILE`.",
        file=sys.stderr,
    )
    return NOT_OPENED


def _study(asked: argparse.Namespace) -> int:
    if asked.step is None and find_spec("matplotlib") is None:  # complain before a run, not after it
        raise ModuleNotFoundError(name="matplotlib")
    if asked.step in (None, "run"):
        _run(asked)
    if asked.step in (None, "report"):
        from .study.show.report import write_report

        _say(f"Report: {write_report(asked.out)}")
    if asked.step == "check":
        return _check(asked.out)
    if asked.step == "export":
        _export(asked.out, asked.format)
    if asked.step == "list":
        _list(asked.out)
    return 0


def _say(line: str) -> None:
    """Print a line; where the reader is gone (``| head``) the rest goes nowhere, and is no error."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(asked: argparse.Namespace) -> None:
    # `study.threads` needs a library for this that may be missing; these need NumPy not to be loaded yet.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from .study.compute.run import run

    began = time.perf_counter()
    with _progress() as (show, note):
        added = run(
            asked.out,
            samples=asked.samples,
            experiments=_names(asked.experiments),
            dimensions=_numbers("dimensions", _names(asked.dimensions)),
            configurations=_names(asked.configurations),
            seed=asked.seed,
            problems=asked.problems,
            engine=asked.engine,
            workers=asked.workers,
            scheduler=asked.scheduler,
            progress=show,
            note=note,
        )
    _say(f"{added} trials added in {time.perf_counter() - began:.0f} s: {asked.out / 'records.sqlite'}")


def _check(out: Path) -> int:
    from .study.judge.check import check
    from .study.judge.facts import Facts
    from .study.records import RECORDS_NAME, Records

    with Records(out / RECORDS_NAME) as records:
        result = check(Facts(records))
    for line in result.lines:
        _say(line)
    return 0 if result.passed else NOT_REPRODUCED


def _export(out: Path, only: str | None) -> None:
    from .study.records import RECORDS_NAME, Records
    from .study.show.export import export_csv, export_parquet

    with Records(out / RECORDS_NAME) as records:
        for name, export in (("csv", export_csv), ("parquet", export_parquet)):
            if only in (None, name):
                _say(str(export(records, out / f"records.{name}")))


def _list(folder: Path) -> None:
    from .study.compute.inventory import find_studies, take

    for place in find_studies(folder):
        found = take(place)
        meta = found.meta
        _say(
            f"{place}: {found.done:,} of {found.total:,} trials, {meta['samples']} samples a cell, "
            f"{meta['problems']} problems, seed {meta['seed']}, engine {meta['engine']}"
        )
        for part in found.parts:
            _say(f"  {part.experiment:<10}{part.done:>9,} of {part.total:>7,}{part.done / part.total:>8.0%}")
        if found.done == found.total:
            _say("  complete")
        elif found.done:
            _say(f"  the rest takes about {_duration(found.seconds_left)}, as fast as what is on file")


def _duration(seconds: float) -> str:
    """A time to the nearest unit that matters."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"


def _names(texts: Sequence[str] | None) -> list[str] | None:
    """Names given apart or with commas."""
    if texts is None:
        return None
    return [name.strip().lower() for text in texts for name in text.split(",") if name.strip()]


def _numbers(option: str, texts: Sequence[str] | None) -> list[int] | None:
    try:
        return None if texts is None else [int(text) for text in texts]
    except ValueError:
        raise StudyError(f"--{option} must be whole numbers; got {' '.join(texts or ())}.") from None


@contextmanager
def _progress() -> Iterator[tuple[Callable[[Progress], None], Callable[[str], None]]]:
    """Functions that show progress and notes on stderr: a bar on a terminal, else a line now and then."""
    if sys.stderr.isatty():
        try:
            from rich import progress as rich_progress
            from rich.console import Console
        except ImportError:
            pass
        else:
            console = Console(stderr=True)
            with rich_progress.Progress(
                rich_progress.TextColumn("trials"),
                rich_progress.BarColumn(),
                rich_progress.TextColumn("{task.fields[text]}"),
                rich_progress.TimeElapsedColumn(),
                rich_progress.TextColumn("left"),
                rich_progress.TimeRemainingColumn(),
                console=console,
            ) as bar:
                task = bar.add_task("", total=1.0, text="starting")
                began = time.perf_counter()

                def show(progress: Progress) -> None:
                    if progress.done:
                        text = _rate(progress, began)
                        bar.update(task, completed=progress.fraction, text=text)

                yield show, lambda text: console.print(text, markup=False, highlight=False)
            return
    began = last = time.perf_counter()

    def show_plain(progress: Progress) -> None:
        nonlocal last
        now = time.perf_counter()
        if progress.done and (now - last > PLAIN_PROGRESS_SECONDS or progress.done == progress.total):
            last = now
            left = (now - began) * (1.0 / progress.fraction - 1.0)
            print(f"{_rate(progress, began)}, {left:.0f} s left", file=sys.stderr, flush=True)

    yield show_plain, lambda text: print(text, file=sys.stderr)


def _rate(progress: Progress, began: float) -> str:
    rate = progress.done / (time.perf_counter() - began)
    return f"{progress.done}/{progress.total} ({rate:.0f}/s)"


if __name__ == "__main__":
    sys.exit(main())
