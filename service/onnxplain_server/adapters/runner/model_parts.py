"""Parts of a loaded model that methods may ask for: its class scores, and its forest."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from onnxplain_server.adapters.onnx import OnnxModel
from onnxplain_server.adapters.onnx.read import parse
from onnxplain_server.adapters.runner.timed_model import TimedModel
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.explain import ClassMargin
from onnxplain_server.telemetry.spans import current
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.forest import Forest, read_forest
from onnxplain_server.trees.reading.refusal import Refusal

NO_MARGIN = Refusal("what the model predicts is decided by neither trees nor linear scores alone")


def as_margin(model: OnnxModel, *, is_answer: bool) -> ClassMargin | None:
    """Use a model's predictions as class margins where they are sums; None otherwise."""
    trees = model.trees if isinstance(model.trees, Ensemble) else NO_MARGIN
    if not (model.is_affine or isinstance(trees, Ensemble)):
        return None
    return ClassMargin(TimedModel(model, current()), trees, model.is_affine, is_answer)


def forest_reader(content: bytes, limits: ModelLimits) -> Callable[[int | None], Forest | Refusal]:
    """Return a memoized reader of the model's forest."""
    return lru_cache(1)(lambda width: read_forest(parse(content, limits).model, width))
