"""Default methods of an explainer: those by which its model explains a row at no great cost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from onnxplain.v1.attributions_pb2 import AttributionsOptions
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions
from onnxplain.v1.individual_conditional_expectation_pb2 import (
    IndividualConditionalExpectationOptions,
)

from onnxplain_server.core.errors import ExplainError

LOG = logging.getLogger(__name__)

_VALUES = MethodOptions(attributions=AttributionsOptions())
_EXACT_VALUES = MethodOptions(
    attributions=AttributionsOptions(perturbation=AttributionsOptions.PATH_DEPENDENT)
)
"""Only answered where values are exact, without predicting."""
_CURVES = MethodOptions(
    individual_conditional_expectation=IndividualConditionalExpectationOptions()
)
_VECTORS = MethodOptions(feature_vectors=FeatureVectorsOptions(source=FeatureVectorsOptions.MODEL))


def default_methods(
    ask: Callable[[Sequence[MethodOptions]], object], name: str
) -> list[MethodOptions]:
    """Try methods on the first row, and return those that explain it.

    Values that are estimated cost predictions, so that they are no default; local vectors need
    trees that can be read.

    Parameters
    ----------
    ask : callable (sequence of MethodOptions) -> anything
        Explains by methods; raises ExplainError where it cannot.
    name : str
        Of the explainer, for the log.

    Raises
    ------
    ExplainError
        If the model cannot be explained by curves, which any can.
    """
    curves = _of_first_row(_CURVES)
    ask([curves])

    def is_answered(method: MethodOptions, what: str) -> bool:
        try:
            ask([_of_first_row(method), curves])  # on the scale of both
        except ExplainError as error:
            LOG.info("the explainer of %s has no %s: %s", name, what, error.message)
            return False
        return True

    values = [_VALUES] if is_answered(_EXACT_VALUES, "exact values") else []
    vectors = [_VECTORS] if is_answered(_VECTORS, "local vectors") else []
    return [*values, _CURVES, *vectors]


def _of_first_row(method: MethodOptions) -> MethodOptions:
    """Return a method with the first row as the one that is explained."""
    copy = MethodOptions()
    copy.CopyFrom(method)
    getattr(copy, copy.WhichOneof("method") or "").row_indices.append(0)
    return copy
