"""Values that tests of FIRM share: a table by hand, rows that are drawn, readings of a result."""

from collections.abc import Callable

import numpy as np
from onnxplain_server.methods.firm import Result

Firm = Callable[..., Result]

ROWS = 3_000
BY_HAND = {"f": np.array([0.0, 0, 1, 1, 1]), "t": np.array(["a", "b", "b", "c", ""], object)}
SCORES = [1.0, 3.0, 4.0, 6.0, 8.0]


def value(result: Result, place: int = 0) -> float:
    return float(result.importances[place].values[0])
