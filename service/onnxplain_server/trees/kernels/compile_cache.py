"""Compile cache: machine code that numba has made of kernels, on disk for later processes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from numba.core.caching import FunctionCache


class KernelCache(FunctionCache):
    """numba's cache in a writable directory; its faults cost only time."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError):
            # An older version wrote the index, and it names a type that has moved since.
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store code; a full or read-only disk costs only the next process."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def kernel_cache(function: Any) -> KernelCache | None:
    """Return the cache of a function; None where no directory is writable."""
    try:
        return KernelCache(function)  # type: ignore[no-untyped-call]
    except RuntimeError:  # numba found no writable directory
        return None
