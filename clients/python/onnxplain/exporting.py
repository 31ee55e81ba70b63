"""Export: a fitted model of scikit-learn as the ONNX file that calls make of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from onnxplain.client import Client
from onnxplain.in_process import local
from onnxplain.requests.fitted_models import FittedModel, fitted_model
from onnxplain.requests.models import to_model
from onnxplain.transport.rpcs import CHECK
from onnxplain.v1.model_pb2 import Model


# Long: most of it documents the parameters.
def export(
    model: Any, table: Any, *, feature_columns: Sequence[str] = (), client: Client | None = None
) -> bytes:
    """Write a fitted model of scikit-learn as an ONNX file, and compare their predictions.

    It is what calls with a fitted model do, once: by skl2onnx, and histogram boosting and isolation
    forests by converters of this package, also inside a pipeline. A classifier gives probabilities,
    an isolation forest its `decision_function`, others what `predict` gives.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.
    table : pandas or polars frame, Arrow table, mapping, 2-D array, ...
        Rows with the columns it was fitted on: they tell the types of inputs, and up to 1,000 are
        predicted by both. See `onnxplain.tables.to_table`.
    feature_columns : sequence of str
        Names of an array's columns.
    client : Client, optional
        Predicts with the file; by default this process, by the server's package.

    Returns
    -------
    bytes
        The file, for `Path.write_bytes`. A warning tells the largest difference.

    Raises
    ------
    ValueError
        Where predictions differ by more than rounding.
    TypeError
        Where it cannot be written, or is no fitted model of scikit-learn, with what to do.
    ImportError
        Without a client, where the server's package is not installed.

    Examples
    --------
    >>> content = onnxplain.export(boosting, frame)
    >>> Path("model.onnx").write_bytes(content)
    """
    fitted = fitted_model(model, table, feature_columns)
    if fitted is None:
        given = to_model(model)  # refuses what is no file, with what to do
        raise TypeError(f"{type(model).__name__} is a file already: {len(given.content):,} bytes")
    return bytes(_compared(fitted, client).content)


def _compared(fitted: FittedModel, client: Client | None) -> Model:
    with local() if client is None else nullcontext(client) as own:
        return fitted.checked(own.messages.answer(CHECK, fitted.request))
