"""Run the benchmark: ``python -m benchmarks.run --help``."""

from __future__ import annotations

import argparse
import queue
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from . import problems, records
from .peers import PEERS
from .worker import Worker

HOME = Path(__file__).parent
RECORDS = HOME / "records"
REPEAT_BELOW = 2.0  # seconds of CPU: longer solves are not repeated for their timing

Task = tuple[str, str, str, int]


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Arguments of the command line, checked."""
    parser = Parser(
        prog="python -m benchmarks.run",
        description="Solve the problems with ours and the peers, judge the points, write RESULTS.md. "
        "A stopped run goes on where it was; change a solver's version or settings and it runs again.",
    )
    parser.add_argument(
        "--set",
        default="hs",
        metavar="SET",
        help="hs: the 115 Hock-Schittkowski problems; all: the rest of the collection; scaling: n = 10...300;"
        " or names separated by commas (default: hs)",
    )
    parser.add_argument(
        "--solvers", default="main", help="main, all, or names separated by commas (default: main)"
    )
    parser.add_argument(
        "--variants",
        default="plain",
        help=f"all, or some of {', '.join(problems.VARIANTS)}, separated by commas (default: plain)",
    )
    parser.add_argument(
        "--repeat", type=int, default=3, help="solves of each plain problem, for timing (default: 3)"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="processes; 1 gives the best timings (default: 1)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=problems.MAX_SECONDS,
        help=f"CPU time allowed per solve (default: {problems.MAX_SECONDS:g})",
    )
    parser.add_argument("--records", type=Path, default=RECORDS, help="folder of the records")
    parser.add_argument("--outside", action="store_true", help="also run optiprofiler's own benchmark")
    parser.add_argument("--report", action="store_true", help="write RESULTS.md and the figures when done")
    parser.add_argument("--report-only", action="store_true", help="write them from the records, run nothing")
    parser.add_argument("--list", action="store_true", help="list the solvers and stop")
    options = parser.parse_args(arguments)
    if options.repeat < 1 or options.jobs < 1 or not options.seconds > 0:
        parser.error("--repeat and --jobs must be at least 1, --seconds positive")
    try:
        options.problems = problems.names(options.set)
        options.solvers = choose("solver", options.solvers, {n: p.main for n, p in PEERS.items()})
        options.variants = choose("variant", options.variants, dict.fromkeys(problems.VARIANTS, True))
    except ValueError as error:
        parser.error(str(error))
    except ImportError as error:
        parser.error(f"{error}; `make peers` or `pip install '.[bench]'` adds it")
    return options


def choose(what: str, wanted: str, known: dict[str, bool]) -> list[str]:
    """Names out of `known`: all, the main ones, or those listed."""
    if wanted == "all":
        return list(known)
    if wanted == "main":
        return [name for name, main in known.items() if main]
    chosen = wanted.split(",")
    for name in chosen:
        if name not in known:
            raise ValueError(f"no {what} {name!r}: give all or some of {', '.join(known)}")
    return chosen


def tasks(options: argparse.Namespace, solvers: list[str]) -> Iterator[Task]:
    """Solves in the order they run: solvers interleaved, repetitions apart in time."""
    for repetition in range(options.repeat):
        for variant in options.variants:
            if repetition and variant != "plain":
                continue
            for name in options.problems:
                for solver in solvers:
                    yield name, variant, solver, repetition


def run(options: argparse.Namespace, console: Console) -> None:
    """Make all records that are missing."""
    name = options.set if options.set in ("hs", "all", "scaling") else "some"
    path = options.records / f"{name}.jsonl"
    with records.writing(path) as found:
        _complete(options, console, path, found)


def _complete(options: argparse.Namespace, console: Console, path: Path, found: list[dict[str, Any]]) -> None:
    versions = {}
    for solver in options.solvers:
        if PEERS[solver].missing:
            console.print(f"[yellow]{solver} skipped: {PEERS[solver].missing}[/]")
        else:
            versions[solver] = PEERS[solver].version
    done = {records.key(record): record for record in found}
    lock = threading.Lock()
    workers: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    for _ in range(options.jobs):
        workers.put(Worker(options.seconds))

    def identity(task: Task) -> dict[str, Any]:
        name, variant, solver, repetition = task
        return {
            "problem": name,
            "variant": variant,
            "solver": solver,
            "repetition": repetition,
            "version": versions[solver],
        }

    def complete(task: Task) -> None:
        name, variant, solver, repetition = task
        fresh = identity(task)
        first = done.get(records.key(fresh | {"repetition": 0}))
        slow = repetition and (first is None or first["own"] is None or first["seconds"] > REPEAT_BELOW)
        if records.key(fresh) not in done and not slow:
            progress.update(bar, description=f"{name} {variant} {solver}")
            worker = workers.get()
            try:
                fresh |= worker.solve(name, variant, solver)
            finally:
                workers.put(worker)
            fresh["time"] = time.strftime("%Y-%m-%dT%H:%M:%S")
            with lock:
                records.append(path, fresh)
                done[records.key(fresh)] = fresh
        progress.advance(bar)

    todo = list(tasks(options, list(versions)))
    columns = (
        TextColumn("{task.description:40.40}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress, ThreadPoolExecutor(options.jobs) as pool:
        bar = progress.add_task(options.set, total=len(todo))
        try:
            for _ in pool.map(complete, todo):
                pass
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            while not workers.empty():
                workers.get().stop()
        progress.update(bar, description=f"{options.set} done")


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    options = parse(arguments)
    console = Console(stderr=True)
    if options.list:
        for name, peer in PEERS.items():
            state = peer.missing or peer.version
            print(f"{name:24}{peer.label:34}{'main' if peer.main else '':6}{state}")
        return 0
    try:
        if not options.report_only:
            run(options, console)
            if options.outside:
                from . import outside

                outside.run(options.records, console)
        if options.report or options.report_only:
            from . import results

            console.print(f"wrote {results.write(options.records)}")
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from here")
        return 130
    except ValueError as error:
        print(f"python -m benchmarks.run: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
