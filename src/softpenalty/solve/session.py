"""What surrounds a solve with a real simulation: processes that evaluate, a checkpoint, and progress."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np

from ..problem.checkpoint import Checkpoint, fingerprint
from ..problem.evaluation import Evaluation
from ..problem.steps import Steps
from ..problem.workers import Workers, mapping
from ..types import Array
from .options import Options
from .progress import Progress
from .watch import Watch

__all__ = ["session"]


def session(
    evaluation: Evaluation, method: str, x0: Array, options: Options, watch: Watch
) -> AbstractContextManager[None]:
    """Use the workers, the checkpoint and the progress that `options` ask for, and put them away after."""
    alone = type(options.workers) is int and options.workers == 1 and options.evaluation_timeout == math.inf
    if alone and options.checkpoint is None and not options.progress:
        return nullcontext()
    return _equipped(evaluation, method, x0, options, watch)


@contextmanager
def _equipped(
    evaluation: Evaluation, method: str, x0: Array, options: Options, watch: Watch
) -> Iterator[None]:
    calls = evaluation.calls
    with ExitStack() as stack:
        if not isinstance(options.workers, (int, float, np.number)):
            calls.map = mapping(options.workers)
        elif options.workers > 1 or np.isfinite(options.evaluation_timeout):
            workers = Workers(evaluation.functions, int(options.workers), options.evaluation_timeout)
            stack.enter_context(workers)
            calls.map = workers.map  # type: ignore[assignment]
            if np.isfinite(options.evaluation_timeout):
                calls.alone = workers.map  # type: ignore[assignment]
        if options.checkpoint is not None:
            if not isinstance(options.checkpoint, (str, os.PathLike)):
                raise TypeError(f"`minimize(checkpoint=...)` must be a path; got {options.checkpoint!r}.")
            checkpoint = Checkpoint(options.checkpoint, _identity(evaluation, method, x0), options.resume)
            stack.callback(checkpoint.close)
            calls.journal = checkpoint
        if options.progress:
            watch.show = stack.enter_context(Progress(evaluation))
        yield


def _identity(evaluation: Evaluation, method: str, x0: Array) -> dict[str, Any]:
    """What tells one problem from another, as far as it can be seen without calling anything."""
    lower, upper = evaluation.bounds or (np.zeros(0), np.zeros(0))
    return {
        "method": method,
        "number of variables": int(x0.size),
        "start": fingerprint(x0),
        "bounds": fingerprint(lower, upper),
        "constraints": [block.name for block in evaluation.blocks],
        "targets": fingerprint(*(side for block in evaluation.blocks for side in (block.lower, block.upper))),
        "steps": [_steps(evaluation.steps_of(i)) for i in range(-1, len(evaluation.blocks))],
        "derivatives": [_kind(evaluation.functions.jac), *(_kind(block.jac) for block in evaluation.blocks)],
    }


def _steps(steps: Steps | None) -> str:
    return "" if steps is None else fingerprint(steps.size, np.array(steps.relative))


def _kind(jac: Any) -> str:
    return "given" if callable(jac) else str(jac)
