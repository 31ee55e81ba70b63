"""Features that a model does not use, told in the receipt."""

from __future__ import annotations

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.model import Model
from onnxplain_server.core.table import listed

_NAMED = 3
"""Features that are named, of more."""


def unused_told(model: Model, names: tuple[str, ...], outputs: Indices) -> str:
    """Tell how many features no output explained depends on, by the graph; empty where none.

    Parameters
    ----------
    names : tuple of str
        Features.
    outputs : (n_outputs,)
        Positions of prediction columns.
    """
    unused = tuple(names[j] for j in sorted(model.unused(len(names), outputs)))
    if not unused:
        return ""
    count = f"{len(unused):,} of the {len(names):,} features"
    return f"; {count}, {listed(unused, _NAMED)}, {'is' if len(unused) == 1 else 'are'} not used"
