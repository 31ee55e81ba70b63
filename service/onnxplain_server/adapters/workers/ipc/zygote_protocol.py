"""Protocol between a zygote and its parent; imports nothing, so that the parent stays light."""

from __future__ import annotations

import struct

REPLY = struct.Struct("<q")
FORK, REAP = b"fork", b"reap"
UNKNOWN = -(2**31)
"""Exit status of a worker that the kernel no longer knows."""

WORKER_NICENESS = 4
"""Niceness of workers: the server itself, which answers probes, has priority over them."""
