"""Waiting for a socket, and how many a process may have open."""

from __future__ import annotations

import select
import socket
import sys

if sys.platform != "win32":
    import resource


class ReadableSocket:
    """Tells when a socket has something to read; a confined process may wait, too.

    Parameters
    ----------
    end : socket
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        if sys.platform != "win32":
            self._poll = select.poll()
            self._poll.register(end, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        """Wait so long at most; return whether there is something to read, or an end."""
        if sys.platform == "win32":
            return bool(select.select([self._end], [], [], max(0.0, seconds))[0])
        # Not `select`, which takes descriptors below 1,024 only.
        return bool(self._poll.poll(max(0.0, seconds) * 1_000))


def allow_open_files(count: int) -> None:
    """Raise the limit of open files, as far as the system allows; Windows has none."""
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = count if hard == resource.RLIM_INFINITY else min(count, hard)
        if soft != resource.RLIM_INFINITY and soft < limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
