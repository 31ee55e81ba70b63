"""Files of a table by which workers know that theirs is the same: path, size, digest of the end."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.streaming.workers import SharedFile

_TAIL_BYTES = 1 << 16


def shared_file(path: Path) -> SharedFile:
    """Describe a file of a table.

    Raises
    ------
    OSError
    """
    resolved = path.resolve()
    with resolved.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        return SharedFile(str(resolved), size, hashlib.sha256(file.read()).hexdigest())


def check(files: Sequence[SharedFile]) -> None:
    """Check that this machine has the same files.

    Raises
    ------
    ExplainError
        INVALID_TABLE.
    """
    for file in files:
        try:
            is_same = shared_file(Path(file.path)) == file
            cause = "differs from that of the command"
        except OSError as error:
            is_same, cause = False, f"cannot be read: {error.strerror}"
        if not is_same:
            raise ExplainError(
                Reason.INVALID_TABLE,
                f"{Path(file.path).name} {cause} on worker {socket.gethostname()}; all workers "
                "read the table from the same path, so it must be on storage that they share",
                "table",
            )
