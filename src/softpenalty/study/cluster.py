"""Chunks on more than one machine: a Dask cluster as an executor like any other."""

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from softpenalty.study import StudyError

ANSWER_SECONDS = 10.0  # how long the scheduler may take to answer and to have a worker
MISSING_DISTRIBUTED = "--scheduler needs distributed; install it with `pip install softpenalty[study]`."


@contextmanager
def cluster_executor(address: str) -> Iterator[Executor]:
    """Executor that computes on the cluster of the scheduler at `address`.

    The scheduler repeats the chunks of a worker that dies; results come back once each.
    """
    try:
        import distributed
    except ImportError:
        raise StudyError(MISSING_DISTRIBUTED) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are reported once, below
    try:
        client = distributed.Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StudyError(f"The scheduler {address} does not answer: {reason}") from None
    try:
        try:
            client.wait_for_workers(1, timeout=ANSWER_SECONDS)
        except TimeoutError:
            raise StudyError(
                f"The scheduler {address} has no workers; start some with `dask worker {address}`."
            ) from None
        executor: Executor = client.get_executor(pure=False)
        try:
            yield executor
        except distributed.KilledWorker as error:
            raise StudyError(f"Too many workers of {address} died at the same chunk: {error}") from None
        finally:
            executor.shutdown(wait=False)  # cancels what has not begun
    finally:
        client.close()
