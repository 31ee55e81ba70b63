"""Compile cache: machine code that numba has made of kernels, on disk for later processes."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import cache
from typing import Any

from numba.core.caching import FunctionCache

LOG = logging.getLogger(__name__)

_SLOW_START = "numba compiles loops, which this installation does not bring for this system; "
_KEPT = f"{_SLOW_START}later starts find them compiled"
_NOT_KEPT = (
    f"{_SLOW_START}each start compiles them anew, because no folder for them can be written to: "
    "name one by NUMBA_CACHE_DIR"
)


class KernelCache(FunctionCache):
    """numba's cache in a writable directory; its faults cost only time."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature; None, and a warning once, where there is none."""
        code = None
        try:
            code = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError):
            # An older version wrote the index, and it names a type that has moved since.
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
        if code is None:
            _warn_once(_KEPT)
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store code; a full or read-only disk costs only the next process."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def kernel_cache(function: Any) -> KernelCache | None:
    """Return the cache of a function; None where no directory is writable."""
    try:
        return KernelCache(function)  # type: ignore[no-untyped-call]
    except RuntimeError:  # numba found no writable directory
        _warn_once(_NOT_KEPT)
        return None


@cache
def _warn_once(message: str) -> None:
    """Tell why this start is slow, once in a process."""
    LOG.warning(message)
