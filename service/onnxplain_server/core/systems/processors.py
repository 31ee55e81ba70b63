"""Processors that this process may use."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

_VARIABLES = (
    *("NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "NUMBA_CPU_FEATURES"),
    *("NUMBA_CPU_NAME", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"),
)


def processor_variables() -> Mapping[str, str]:
    """Return the variables that are set by which numpy, OpenBLAS and numba choose their loops.

    Other loops round sums differently, and on some processors those of OpenBLAS's own choice fail.
    """
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}


def processor_count() -> int:
    """Return the number of processors that this process may use: on Linux, by its affinity."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
