"""Nominal pace: rows in a second by the size of a model, in place of a measurement.

It is the same wherever and whenever it is asked for; so are the rows that are chosen by it.
"""

from __future__ import annotations

from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.planning.pace import TimeGrowth
from onnxplain_server.explain.question import Engine
from onnxplain_server.methods.interactions import usual_pair_effects
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.refusal import Refusal

_UNKNOWN_PACE = 20_000.0
"""Of models known by their address only, whose size nobody tells."""
_PROCESSORS = 2
_LEAF_SECONDS, _PAIR_SECONDS = 25e-9, 10e-9
"""Seconds of interactions on trees: for each row and leaf; and behind a link, for each two rows,
effect and sum."""
_TERM_SECONDS = 2e-6
"""Seconds of an effect of sums of terms, for each row and sum."""
_KERNEL_SECONDS = 1e-8
"""Seconds of an effect of weighted sums of kernels, for each row and kernel."""
_VALUE_SECONDS, _PATTERN_SECONDS = 2e-9, 1e-9
"""Seconds of Shapley values on trees: for each row and leaf; and for each leaf, pattern of the
features on its path, and two of these."""
_MOST_PLAYERS = 40
"""Features on a path beyond which any time is too long."""
_ROUND = (5, 3, 2, 1)


def nominal_pace(request: BoundRequest) -> float:
    """Return the rows that two processors are expected to predict in a second."""
    row_seconds = request.resources.row_seconds
    return _PROCESSORS / row_seconds() if row_seconds else _UNKNOWN_PACE


def nominal_tree_rows(request: BoundRequest, seconds: float) -> int:
    """Return the rows whose interactions are expected to take some seconds without predicting."""
    effects = effect_count(len(request.sample.features.names))
    linear, sum_count = _row_work(request, effects)
    square = 0.0
    if request.tabular_choice.is_quadratic:
        square = _PAIR_SECONDS * effects * sum_count
    return int(TimeGrowth(linear, square).rows_within(seconds))


def _row_work(request: BoundRequest, effects: int) -> tuple[float, int]:
    """Return the seconds of a row in these effects, and the sums of a row in front of a link."""
    additive, trees = request.resources.additive(), request.resources.trees()
    if request.tabular_choice.engine is Engine.ADDITIVE and not isinstance(additive, Refusal):
        if isinstance(additive, KernelModel):
            return _KERNEL_SECONDS * effects * additive.kernel_count, additive.kernel_count
        return _TERM_SECONDS * effects * additive.sum_count, additive.sum_count
    assert not isinstance(trees, Refusal)  # noqa: S101 - the engine was chosen
    ensemble = trees if isinstance(trees, Ensemble) else trees.ensemble
    return _LEAF_SECONDS * max(len(ensemble.leaf), 1), ensemble.values.shape[1]


def nominal_value_seconds(request: BoundRequest, row_count: int) -> float:
    """Return the seconds that exact Shapley values are expected to take, with their background.

    Parameters
    ----------
    row_count : int
        Rows explained and of the background.
    """
    trees, width = request.resources.trees(), len(request.sample.features.names)
    if request.tabular_choice.engine is Engine.ADDITIVE or isinstance(trees, Refusal):
        return _TERM_SECONDS * row_count * width
    ensemble = trees if isinstance(trees, Ensemble) else trees.ensemble
    most = min(ensemble.depth, width, _MOST_PLAYERS)
    tables = _PATTERN_SECONDS * most**2 * 2.0**most
    return float((_VALUE_SECONDS * row_count + tables) * len(ensemble.leaf))


def effect_count(feature_count: int) -> int:
    """Return the effects of interactions with default options: of each feature, without it, pairs.

    Parameters
    ----------
    feature_count : int
        Features of the model.
    """
    return 2 * feature_count + usual_pair_effects(feature_count)


def round_rows(count: int) -> int:
    """Round down to 1, 2, 3 or 5 with zeros: differences of a model or a table seldom show."""
    unit = 10 ** (len(str(count)) - 1)
    return next((digit * unit for digit in _ROUND if digit * unit <= count), 0)
