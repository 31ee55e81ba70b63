"""Leaders: the largest of some numbers, with all that cannot be told from it.

A sentence may say that something is the largest only where it is so beyond its error, and where
no other number is written alike.
"""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.plots.elements.number_formats import spell_beside

_ERRORS = 2.0
"""Standard errors within which numbers are not told apart, about a 95 % interval."""


def leaders(values: Vector, errors: Vector | None = None) -> list[int]:
    """Return the place of the largest number, and of those that may be as large, the larger first.

    Parameters
    ----------
    values : (n,)
        Those that are not finite are no leaders.
    errors : (n,) or None
        Standard errors; None, or NaN, where they are not known.

    Returns
    -------
    list of int
        Empty where no number is above 0, beyond its error.
    """
    finite = np.where(np.isfinite(values), values, -np.inf)
    known = np.zeros(len(finite)) if errors is None else np.nan_to_num(errors)
    first = int(np.argmax(finite)) if finite.size else 0
    if not finite.size or finite[first] <= _ERRORS * known[first]:
        return []
    beside = values[np.isfinite(values)]
    text = spell_beside(finite[first], beside)
    spread = _ERRORS * np.hypot(known, known[first])
    order = np.argsort(-finite, kind="stable").tolist()
    alike = takewhile(lambda at: spell_beside(finite[at], beside) == text, order)
    are_alike = set(alike)  # of numbers in order, the first ones
    is_near = np.isfinite(finite) & (finite >= finite[first] - spread)
    return [at for at in order if is_near[at] or at in are_alike]
