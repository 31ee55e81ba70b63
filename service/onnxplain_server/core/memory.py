"""Memory of computations: what a table takes, and what it may take."""

from __future__ import annotations

from onnxplain_server.core.systems.memory import machine_bytes

_COPIES = 6
"""Of a table in memory: columns as sent and in the model's type, cells, effects and their terms."""
_NUMBER = 8


def cells_bytes(cell_count: int) -> int:
    """Estimate the memory of a computation on a table of so many cells."""
    return _COPIES * _NUMBER * cell_count


def default_memory_bytes() -> int:
    """Return the memory for a table where none is named: half of the machine's."""
    return machine_bytes() // 2
