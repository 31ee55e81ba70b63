"""Tasks as Dask calls them on a worker: bytes, text and numbers in, bytes out, errors included."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import cache
from importlib.metadata import version

from distributed import get_worker

from onnxplain_server.adapters.cluster.confined_tasks import ConfinedTasks, WorkerSize
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.streaming.workers import Range, SharedFile

FileFields = tuple[str, int, str]
"""Path, size and digest of the end, as `SharedFile` has them."""

RESULT, _ERROR = b"r", b"e"
"""First byte of a reply: with a result, or with an error."""

_lock = threading.Lock()
_confined: ConfinedTasks | None = None


def keep(content: bytes) -> bytes:
    """Return the bytes: Dask then has them on each worker that needs them, once."""
    return content


def compute(  # noqa: PLR0917 - as Dask calls it
    job: bytes, work: bytes, files: tuple[FileFields, ...], caller: str, task: Range, release: str
) -> bytes:
    """Compute a task in a confined process; return its sums, or its error, as bytes.

    Parameters
    ----------
    caller : str
        Digest of caller and model, whose tasks share no process with those of others.
    release : str
        Version of the package that asks: others may compute other bits.
    """
    table = [SharedFile(*fields) for fields in files]
    return _reply(release, lambda: _tasks().compute(job, work, table, task, caller))


def predict(model: bytes, job: bytes, caller: str, rows: bytes, release: str) -> bytes:
    """Predict rows in a confined process; return the predictions, or its error, as bytes.

    Parameters
    ----------
    caller, release : str
        As in `compute`.
    """
    return _reply(release, lambda: _tasks().predict(model, job, rows, caller))


def _reply(release: str, compute_result: Callable[[], bytes]) -> bytes:
    try:
        _check(release)
        return RESULT + compute_result()
    except ExplainError as error:
        return _ERROR + json.dumps([error.reason.name, error.message, error.field]).encode()


def read_reply(reply: bytes) -> bytes:
    """Return the sums or predictions of a reply.

    Raises
    ------
    ExplainError
        The task's.
    """
    if reply[:1] == RESULT:
        return reply[1:]
    name, message, field = json.loads(reply[1:])
    raise ExplainError(Reason[name], message, field)


@cache
def own_release() -> str:
    """Return the version of this package, whose files are read once."""
    return version("onnxplain-server")


def _check(release: str) -> None:
    if release != own_release():
        raise ExplainError(
            Reason.UNAVAILABLE,
            f"a worker of the cluster runs onnxplain-server {own_release()}, not {release}; "
            "install the same version on all machines",
        )


def _tasks() -> ConfinedTasks:
    """Return the confined processes of this worker, which the first task starts."""
    global _confined  # noqa: PLW0603 - one pool for each process, as Dask calls functions only
    with _lock:
        if _confined is None:
            _confined = ConfinedTasks(_size())
        return _confined


def _size() -> WorkerSize:
    worker = get_worker()
    limit = worker.memory_manager.memory_limit
    thread_count = worker.state.nthreads
    return WorkerSize(thread_count, limit) if limit else WorkerSize.of_machine(thread_count)
