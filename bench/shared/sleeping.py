"""Task that sleeps in place of one that computes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from onnxplain_server.adapters.cluster.dask_task import RESULT

TASK_BLOCKS = 4
"""Blocks of a task."""


def sleep_task(
    job: bytes, work: bytes, _files: object, _caller: str, task: tuple[int, int], _release: str
) -> bytes:
    """Sleep as long as a measured task, and return sums of its size."""
    seconds: Sequence[float] = json.loads(work)
    time.sleep(seconds[task[0] // TASK_BLOCKS % len(seconds)])
    return RESULT + job
