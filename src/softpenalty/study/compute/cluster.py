"""Chunks on more than one machine: a Dask cluster as an executor like any other."""

import logging
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager

from ...extras import install_hint
from .. import StudyError

ANSWER_SECONDS = 10.0  # how long the scheduler may take to answer and to have a worker
MISSING_DISTRIBUTED = f"--scheduler needs distributed; install it with {install_hint('study')}."


@contextmanager
def cluster_executor(address: str) -> Iterator[Executor]:
    """Executor that computes on the cluster of the scheduler at `address`.

    The scheduler repeats the chunks of a worker that dies; results come back once each.
    """
    try:
        import distributed
    except ImportError:
        raise StudyError(MISSING_DISTRIBUTED) from None
    for name in list(logging.root.manager.loggerDict):  # each has a level of its own
        if name.startswith("distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are reported once, below
    try:
        distributed.comm.resolve_address(address)  # a client that fails at it complains once more at its end
        client = distributed.Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except ValueError as error:
        raise StudyError(f"--scheduler must be an address such as tcp://host:8786: {error}.") from None
    except (OSError, TimeoutError) as error:
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
        except (CancelledError, distributed.comm.CommClosedError):
            raise StudyError(
                f"The scheduler {address} is gone. What is finished is on file; the same command goes on "
                "from there, with this scheduler when it is back or with another."
            ) from None
        finally:
            executor.shutdown(wait=False)  # cancels what has not begun
    finally:
        client.close()
