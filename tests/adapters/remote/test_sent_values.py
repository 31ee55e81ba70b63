"""Values on their way to a server of models: the bytes of text, and what JSON cannot carry."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.adapters.remote.protocols.json_numbers import check_finite
from onnxplain_server.adapters.remote.protocols.tensors import STRINGS, Tensor
from onnxplain_server.core.errors import ExplainError, Reason


def test_each_text_follows_its_length_in_bytes_in_four_bytes_the_lowest_first() -> None:
    cities = Tensor("city", STRINGS, np.array([["Köln"], [""], ["Ulm"]], object))

    assert cities.packed() == b"\5\0\0\0K\xc3\xb6ln\0\0\0\0\3\0\0\0Ulm"


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_not_sent_as_a_missing_value(value: float) -> None:
    check_finite({"x": np.array([[1.0], [np.nan]]), "n": np.array([[1]])})

    with pytest.raises(ExplainError, match='"x" has infinite values') as refused:
        check_finite({"x": np.array([[1.0], [value]])})
    assert refused.value.reason is Reason.PREDICTION_FAILED
