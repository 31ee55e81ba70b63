"""Requests whose answers are the same share their work, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.model import Scale
from onnxplain_server.explain import Question
from onnxplain_server.explain.single_flight_key import single_flight_key
from onnxplain_server.methods import interactions, partial_dependence

COLUMNS = {"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 5.0]}
OPTIONS = interactions.Options(("a", "b"))
QUESTION = Question((OPTIONS,))


def total(a, b):
    return a + b


def name(
    make,
    question: Question = QUESTION,
    options=OPTIONS,
    columns=COLUMNS,
    **engine,
) -> str:
    effects = make.engine(total, columns, **engine).effects
    return single_flight_key(effects.background, effects.output_names, question, options)


def test_the_same_question_has_the_same_name(make) -> None:
    assert name(make) == name(make)


def test_neither_plots_nor_other_methods_change_the_name(make) -> None:
    asked = replace(QUESTION, plots=False, methods=(OPTIONS, OPTIONS))

    assert name(make, asked) == name(make)


@pytest.mark.parametrize(
    "change",
    [
        {"scale": Scale.MARGIN},
        {"seed": 1},
        {"target_column": "y"},
        {"weight_column": "w"},
        {"cluster_column": "c"},
        {"row_count": 2},
        {"output_indices": (0,)},
        {"prediction": ("exp(y)",)},
    ],
)
def test_another_question_has_another_name(make, change: dict[str, Any]) -> None:
    assert name(make, replace(QUESTION, **change)) != name(make)


def test_other_rows_or_weights_have_another_name(make) -> None:
    names = {
        name(make),
        name(make, columns=COLUMNS | {"b": [2.0, 1.0, 6.0]}),
        name(make, weights=[1.0, 1.0, 2.0]),
    }

    assert len(names) == 3


def grid(values) -> partial_dependence.Options:
    return partial_dependence.Options((("a",),), grids=({"a": np.array(values)},))


def test_other_options_have_another_name(make) -> None:
    """Grids too long to be printed differ in a point of their middle."""
    values = np.arange(5_000.0)
    other = values.copy()
    other[2_500] += 1e-9
    choices = [
        OPTIONS,
        replace(OPTIONS, pairwise_feature_count=1),
        replace(OPTIONS, features=("ab",)),
        replace(OPTIONS, features=("a",)),
        grid(values),
        grid(other),
        grid([1.0]),
        grid(["1.0"]),
    ]

    assert len({name(make, options=options) for options in choices}) == len(choices)
    assert name(make, options=grid(values)) == name(make, options=grid(values.copy()))
