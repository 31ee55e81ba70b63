"""Squares of predictions that float64 cannot hold are told, and others are not."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.methods import interactions
from onnxplain_server.methods.interactions import Options


@pytest.mark.parametrize(
    ("unit", "codes"),
    [
        (1.0, []),
        (2.0**400, []),
        (2.0**600, ["SQUARES_OUT_OF_RANGE"]),
        (2.0**-600, ["SQUARES_OUT_OF_RANGE"]),
    ],
)
def test_what_squares_lose_is_told(make, unit: float, codes: list[str]) -> None:
    random = np.random.default_rng(0)
    columns = {name: random.normal(size=20) for name in "ab"}
    engine = make.engine(lambda a, b: unit * a * b, columns, rounding=2.0**-53)
    options = interactions.resolve(Options(), tuple(columns), "p")

    found = interactions.compute(engine.effects, options, 0)

    assert [note.code for note in found.notes] == codes


def test_a_constant_prediction_loses_nothing(make) -> None:
    columns = {"a": np.arange(5.0), "b": np.ones(5)}
    engine = make.engine(lambda a, b: 7.0 + 0 * a * b, columns, rounding=2.0**-53)
    options = interactions.resolve(Options(), tuple(columns), "p")

    found = interactions.compute(engine.effects, options, 0)

    assert not found.notes
