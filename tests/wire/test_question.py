"""Requests to questions: what is said, and what is left to defaults."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import FeatureGroup, Grid, PartialDependenceOptions
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Scale
from onnxplain_server.explain import Engine
from onnxplain_server.methods import interactions, partial_dependence
from onnxplain_server.wire import question

INTERACTIONS = MethodOptions(interactions=InteractionsOptions())


def refusal(given: ExplainRequest) -> ExplainError:
    with pytest.raises(ExplainError) as refused:
        question.read(given)
    return refused.value


def method(given):
    """Read the options of one method."""
    name = "interactions" if isinstance(given, InteractionsOptions) else "partial_dependence"
    request = ExplainRequest(methods=[MethodOptions(**{name: given})])
    return question.read(request).methods[0]


def test_what_is_left_out_has_its_default() -> None:
    asked = question.read(ExplainRequest(methods=[INTERACTIONS]))

    assert asked.methods == (interactions.Options(),)
    assert (asked.feature_columns, asked.output_indices) == ((), ())
    assert asked.target_column == asked.weight_column == ""
    assert asked.scale is Scale.RESPONSE
    assert asked.engine is None
    assert asked.row_count is None
    assert asked.seed == 0
    assert asked.plots is True


def test_what_is_said_counts() -> None:
    asked = question.read(
        ExplainRequest(
            methods=[INTERACTIONS, INTERACTIONS],
            feature_columns=["b", "a"],
            target_column="y",
            weight_column="w",
            output_indices=[2, 0],
            scale="MARGIN",
            engine="BLACK_BOX",
            row_count=7,
            seed=9,
            class_labels=["no", "yes"],
            plots=False,
        )
    )

    assert len(asked.methods) == 2
    assert asked.feature_columns == ("b", "a")
    assert (asked.target_column, asked.weight_column) == ("y", "w")
    assert asked.output_indices == (2, 0)
    assert (asked.scale, asked.engine) == (Scale.MARGIN, Engine.BLACK_BOX)
    assert (asked.row_count, asked.seed, asked.plots) == (7, 9, False)
    assert asked.class_labels == ("no", "yes")


def test_interactions_have_the_defaults_of_the_contract() -> None:
    assert method(InteractionsOptions()) == interactions.Options(
        features=(),
        pairwise_feature_count=None,
        threeway_feature_count=0,
        quantile_bin_count=0,
        absolute_threshold=None,
        permutation_count=0,
        knot_count=0,
    )


def test_options_of_interactions_are_read_zero_included() -> None:
    given = InteractionsOptions(
        features=["x", "y"],
        pairwise_feature_count=0,
        threeway_feature_count=3,
        quantile_bin_count=20,
        absolute_threshold=0,
        knot_count=9,
        permutation_count=99,
    )

    expected = interactions.Options(("x", "y"), 0, 3, 20, 0, 9, permutation_count=99)
    assert method(given) == expected


def test_partial_dependence_has_the_defaults_of_the_contract() -> None:
    options = method(PartialDependenceOptions())

    assert (options.features, options.grids) == ((), ())
    assert (options.grid_size, options.trim_lower, options.trim_upper) == (49, 0.01, 0.99)
    assert options.strategy is partial_dependence.Strategy.UNIFORM
    assert (options.group_column, options.group_count) == ("", 4)
    assert options.include_missing is False


def test_options_of_partial_dependence_are_read_zero_included() -> None:
    options = method(
        PartialDependenceOptions(
            features=[FeatureGroup(names=["x"]), FeatureGroup(names=["y", "t"])],
            grid_size=5,
            strategy="QUANTILE",
            trim_lower=0,
            trim_upper=1,
            grids=[
                Grid(),
                Grid(
                    columns=[
                        Column(name="y", numbers=[1, 2, 1]),
                        Column(name="t", strings=["a", "", "b"]),
                    ]
                ),
            ],
            group_column="g",
            group_count=1,
            include_missing=True,
        )
    )

    assert options.features == (("x",), ("y", "t"))
    assert (options.grid_size, options.trim_lower, options.trim_upper) == (5, 0, 1)
    assert options.strategy is partial_dependence.Strategy.QUANTILE
    assert (options.group_column, options.group_count) == ("g", 1)
    assert options.include_missing is True
    laid, given = options.grids
    assert laid is None
    assert list(given) == ["y", "t"]
    assert given["y"].dtype == np.float64
    assert [values.tolist() for values in given.values()] == [[1, 2, 1], ["a", "", "b"]]


@pytest.mark.parametrize(
    ("request_", "reason", "field", "words"),
    [
        (
            ExplainRequest(methods=[INTERACTIONS, MethodOptions()]),
            Reason.INVALID_REQUEST,
            "methods[1]",
            ["names no method"],
        ),
        (
            ExplainRequest(methods=[INTERACTIONS], row_count=1),
            Reason.INVALID_OPTION,
            "row_count",
            ["1", "at least 2", "[2,"],
        ),
        (
            ExplainRequest(methods=[INTERACTIONS], row_count=0),
            Reason.INVALID_OPTION,
            "row_count",
            ["row_count is 0"],
        ),
        (
            ExplainRequest(methods=[INTERACTIONS], seed=-1),
            Reason.INVALID_OPTION,
            "seed",
            ["seed is -1"],
        ),
        (
            ExplainRequest(methods=[INTERACTIONS], model_name="m" * 256),
            Reason.INVALID_OPTION,
            "model_name",
            ["256 letters", "at most 255"],
        ),
        (
            ExplainRequest.FromString(
                ExplainRequest(methods=[INTERACTIONS]).SerializeToString() + b"\x38\x63"
            ),
            Reason.INVALID_OPTION,
            "scale",
            ["scale", "99"],
        ),
        (
            ExplainRequest.FromString(
                ExplainRequest(methods=[INTERACTIONS]).SerializeToString() + b"\x40\x63"
            ),
            Reason.INVALID_OPTION,
            "engine",
            ["engine", "99"],
        ),
    ],
)
def test_impossible_requests_are_refused(
    request_: ExplainRequest, reason: Reason, field: str, words: list[str]
) -> None:
    refused = refusal(request_)

    assert (refused.reason, refused.field) == (reason, field)
    assert any(word in refused.message for word in words)


def test_steps_are_a_strategy() -> None:
    options = method(PartialDependenceOptions(strategy="STEPS"))

    assert options.strategy is partial_dependence.Strategy.STEPS


def test_an_unknown_strategy_is_refused_by_its_number() -> None:
    options = PartialDependenceOptions.FromString(b"\x18\x07")
    request = ExplainRequest(methods=[INTERACTIONS, MethodOptions(partial_dependence=options)])

    refused = refusal(request)

    assert refused.reason is Reason.INVALID_OPTION
    assert refused.field == "methods[1].partial_dependence.strategy"
    assert "7" in refused.message


def test_bytes_that_are_no_message_are_refused() -> None:
    with pytest.raises(ExplainError) as refused:
        question.parse(b"\xff\xff", ExplainRequest())

    assert refused.value.reason is Reason.INVALID_REQUEST


def test_bytes_of_a_message_fill_it() -> None:
    sent, read = ExplainRequest(seed=3), ExplainRequest()

    question.parse(sent.SerializeToString(), read)

    assert read == sent


def test_a_model_is_needed() -> None:
    assert question.model_content(Model(content=b"onnx")) == b"onnx"
    with pytest.raises(ExplainError) as refused:
        question.model_content(Model())
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_REQUEST, "model")
