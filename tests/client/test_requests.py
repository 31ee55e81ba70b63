"""Requests made of the arguments of `explain`."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx.helper
import pytest
from onnxplain import (
    AccumulatedLocalEffects,
    Attributions,
    AverageLoss,
    Explanations,
    FeatureVectors,
    Firm,
    FirmPairs,
    FirmSequences,
    IndividualConditionalExpectation,
    Interactions,
    ModelRef,
    PartialDependence,
    PermutationImportance,
    Swarm,
)
from onnxplain.requests import to_request
from onnxplain.requests.rows import to_describe_request, to_predict_request
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROWS = {"age": [20.0, 30.0], "bmi": [21.0, 22.0]}
MODEL = onnx.helper.make_model(onnx.helper.make_graph([], "empty", [], []))


def fields(message) -> list[str]:
    return [field.name for field in message.DESCRIPTOR.fields]


METHODS: list[Any] = [
    Interactions,
    PartialDependence,
    IndividualConditionalExpectation,
    PermutationImportance,
    AverageLoss,
    FeatureVectors,
    Firm,
    Swarm,
    Attributions,
    AccumulatedLocalEffects,
]


@pytest.mark.parametrize("kind", METHODS)
def test_a_name_stands_for_the_default_options(kind: Any) -> None:
    options = kind().to_message()
    request = to_request(None, None, options.WhichOneof("method"), kind(), "firm")

    assert list(request.methods) == [options, options, Firm().to_message()]


def test_an_unknown_name_lists_the_methods() -> None:
    with pytest.raises(
        ValueError,
        match=r"'interaction' \(did you mean interactions\?\): choose from interactions, p",
    ):
        to_request(None, None, "interaction")


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (Interactions, r"give Interactions\(\), an instance"),
        (["interactions", "firm"], "not list; give several one after the other"),
        (None, "not NoneType"),
    ],
)
def test_something_else_than_a_method_is_refused(method: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        to_request(None, None, method)


REQUEST: Any = partial(to_request, None, None)


def options(kind: Any) -> Any:
    return lambda **given: kind(**given).to_message()


WHOLE = "it must be a whole number of at most 2147483647"
ENTRIES = "it must be a list, and each entry"


@pytest.mark.parametrize(
    ("make", "given", "said"),
    [
        (REQUEST, {"seed": 2**31}, f"seed is 2147483648; {WHOLE}"),
        (REQUEST, {"row_count": 2.5}, f"row_count is 2.5; {WHOLE}"),
        (REQUEST, {"output_indices": [2**31]}, f"output_indices is [2147483648]; {ENTRIES} a"),
        (REQUEST, {"feature_columns": [3]}, f"feature_columns is [3]; {ENTRIES} text"),
        (REQUEST, {"budget_seconds": "1 s"}, "budget_seconds is '1 s'; it must be a number"),
        (options(PartialDependence), {"grid_size": 2**31}, f"grid_size is 2147483648; {WHOLE}"),
        (
            options(PartialDependence),
            {"features": [["age", 3]]},
            "features has ['age', 3]; each entry must",
        ),
        (
            options(PartialDependence),
            {"features": [3]},
            "features has 3; each entry must be a name, or a",
        ),
        (options(FirmSequences), {"column": 3}, "column is 3; it must be text"),
        (
            partial(to_predict_request, MODEL, ROWS),
            {"rows": [2**31]},
            f"rows is [2147483648]; {ENTRIES} a whole number",
        ),
        (
            partial(to_describe_request, ROWS),
            {"row_count": 2**31},
            f"row_count is 2147483648; {WHOLE}",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_told_by_its_field(
    make: Any, given: dict[str, Any], said: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        make(**given)


def test_no_method_is_a_request_too() -> None:
    assert list(to_request(None, None).methods) == []


def test_every_method_of_the_contract_has_options_and_a_result_of_its_name() -> None:
    written = [method().to_message().WhichOneof("method") for method in METHODS]

    assert written == fields(MethodOptions())
    for name in written:
        assert getattr(Explanations, name).fget is not None


@pytest.mark.parametrize("method", METHODS)
def test_options_have_the_names_of_the_contract(method) -> None:
    message = method().to_message()
    options = getattr(message, message.WhichOneof("method"))
    assert list(method.__dataclass_fields__) == fields(options)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_left_out_stays_out_of_the_message(method) -> None:
    message = method().to_message()
    assert getattr(message, message.WhichOneof("method")).ListFields() == []


def test_options_arrive_with_their_values() -> None:
    found = Interactions(
        features=["age", "bmi"], pairwise_feature_count=0, absolute_threshold=1e-10
    ).to_message()

    assert found == MethodOptions(
        interactions={
            "features": ["age", "bmi"],
            "pairwise_feature_count": 0,
            "absolute_threshold": 1e-10,
        }
    )
    assert found.interactions.HasField("pairwise_feature_count")


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        pytest.param(
            IndividualConditionalExpectation(
                features=["age"],
                grids=[[1, 2]],
                curve_count=7,
                group_columns=["sex"],
                centered=True,
            ),
            {
                "individual_conditional_expectation": {
                    "features": ["age"],
                    "grids": [{"columns": [{"name": "age", "numbers": [1, 2]}]}],
                    "curve_count": 7,
                    "group_columns": ["sex"],
                    "centered": True,
                }
            },
            id="curves of rows",
        ),
        pytest.param(
            PermutationImportance(
                features=["age", ("age", "bmi")], loss="GAMMA", one_hot_target=False, repeat_count=2
            ),
            {
                "permutation_importance": {
                    "features": [{"names": ["age"]}, {"names": ["age", "bmi"]}],
                    "loss": "GAMMA",
                    "one_hot_target": False,
                    "repeat_count": 2,
                }
            },
            id="importance",
        ),
        pytest.param(
            AccumulatedLocalEffects(features=["age"], bin_count=5, repeat_count=0),
            {
                "accumulated_local_effects": {
                    "features": [{"names": ["age"]}],
                    "bin_count": 5,
                    "repeat_count": 0,
                }
            },
            id="accumulated",
        ),
        pytest.param(
            AverageLoss(target_columns=["y", "z"], sum_outputs=True, group_column="sex"),
            {
                "average_loss": {
                    "target_columns": ["y", "z"],
                    "sum_outputs": True,
                    "group_column": "sex",
                }
            },
            id="loss",
        ),
        pytest.param(
            Firm(
                features=["age > 40"],
                pairs=[FirmPairs(features=["a", "b"], include_negations=True)],
                estimator="BINNED",
                contrasts=["WEIGHT"],
                one_hot_target=False,
            ),
            {
                "firm": {
                    "features": ["age > 40"],
                    "pairs": [{"features": ["a", "b"], "include_negations": True}],
                    "estimator": "BINNED",
                    "contrasts": ["WEIGHT"],
                    "one_hot_target": False,
                }
            },
            id="firm",
        ),
        pytest.param(
            Firm(sequences=FirmSequences(weights={("GAT", 3): 0.5}, order=0, column="s")),
            {
                "firm": {
                    "sequences": {
                        "column": "s",
                        "background": {"order": 0},
                        "weights": {"kmers": ["GAT"], "positions": [3], "values": [0.5]},
                    }
                }
            },
            id="sequences",
        ),
    ],
)
def test_options_of_other_methods_too(method, expected) -> None:
    assert method.to_message() == MethodOptions(**expected)


def test_a_name_is_a_curve_and_several_names_are_a_surface() -> None:
    found = PartialDependence(features=["age", ("age", "bmi")], strategy="QUANTILE").to_message()

    assert found == MethodOptions(
        partial_dependence={
            "features": [{"names": ["age"]}, {"names": ["age", "bmi"]}],
            "strategy": "QUANTILE",
        }
    )


def test_grids_go_with_their_features() -> None:
    found = PartialDependence(
        features=["age", "region", ("age", "bmi"), "bmi"],
        grids=[np.array([1, 2]), ["n", None], {"bmi": [3.5, None], "age": [True, False]}, None],
    ).to_message()

    grids = found.partial_dependence.grids
    assert [[c.name for c in grid.columns] for grid in grids] == [
        ["age"],
        ["region"],
        ["age", "bmi"],
        [],
    ]
    assert grids[0].columns[0].numbers == [1, 2]
    assert grids[1].columns[0].strings == ["n", ""]
    assert grids[2].columns[0].numbers == [1, 0]
    assert np.array(grids[2].columns[1].numbers).tolist() == pytest.approx(
        [3.5, np.nan], nan_ok=True
    )


def test_grids_that_do_not_match_the_features_are_refused() -> None:
    with pytest.raises(ValueError, match="grids has 1 entries for 2 entries of features"):
        PartialDependence(features=["age", "bmi"], grids=[[1]]).to_message()
    with pytest.raises(ValueError, match="the grid for age, bmi must be a mapping"):
        PartialDependence(features=[("age", "bmi")], grids=[[1]]).to_message()
    with pytest.raises(TypeError, match="values of 'age' must be numbers or strings"):
        PartialDependence(features=["age"], grids=[[[1]]]).to_message()


def test_a_lone_name_is_not_taken_for_its_letters() -> None:
    with pytest.raises(TypeError, match=r"\['age'\]"):
        Interactions(features="age").to_message()
    with pytest.raises(TypeError, match=r"group_columns must be a list; for one, \['sex'\]"):
        IndividualConditionalExpectation(group_columns="sex").to_message()
    with pytest.raises(TypeError, match=r"target_columns must be a list; for one, \['y'\]"):
        AverageLoss(target_columns="y").to_message()
    with pytest.raises(TypeError, match=r"\['age'\]"):
        to_request(MODEL, ROWS, feature_columns="age")


def test_one_prediction_may_stand_alone() -> None:
    alone = to_request(MODEL, ROWS, Interactions(), prediction="max(a, b)")
    listed = to_request(MODEL, ROWS, Interactions(), prediction=("exp(y)", "p = 2 * y"))

    assert list(alone.prediction) == ["max(a, b)"]
    assert list(listed.prediction) == ["exp(y)", "p = 2 * y"]


def test_outputs_are_named_in_text() -> None:
    alone = to_request(MODEL, ROWS, Interactions(), outputs="yes")

    assert list(alone.outputs) == ["yes"]
    with pytest.raises(TypeError, match="positions in output_indices"):
        to_request(MODEL, ROWS, Interactions(), outputs=[1])  # type: ignore[list-item] # refused


def test_every_field_of_the_request_can_be_given() -> None:
    request = to_request(
        MODEL,
        ROWS,
        Interactions(),
        feature_columns=["age"],
        target_column="y",
        target_columns=["y", "z"],
        weight_column="w",
        output_indices=[1],
        scale="MARGIN",
        engine="BLACK_BOX",
        row_count=100,
        seed=0,
        class_labels=["no", "yes"],
        plots=False,
        allow_inconsistent_model=True,
        prediction=["exp(y)"],
        model_name="houses",
        outputs=["yes"],
        budget_seconds=10,
        budget_predicted_row_count=1e6,
        partial=True,
        result_uri="s3://results/a.pb",
        input_columns={"X": ["age"]},
        expected_prediction_columns=["p"],
        cluster_column="c",
        replicates=True,
        reference=ExplainResponse(summary=["kept"]),
    )

    assert sorted(field.name for field, _ in request.ListFields()) == sorted(
        fields(ExplainRequest())
    )
    assert request.scale == 2


def test_a_model_from_a_file_has_its_name_unless_another_is_given(tmp_path: Path) -> None:
    path = tmp_path / "house.onnx"
    path.write_bytes(MODEL.SerializeToString())

    assert to_request(path, ROWS).model_name == "house.onnx"
    assert to_request(str(path), ROWS, model_name="houses").model_name == "houses"
    assert to_request(MODEL, ROWS).model_name == ""
    assert to_request(None, ROWS).model_name == ""
    uploaded = ModelRef("sha256:00", b"", "house.onnx")
    assert to_request(uploaded, ROWS).model_name == "house.onnx"


def test_row_count_and_seed_are_absent_unless_given() -> None:
    request = to_request(MODEL, ROWS)
    assert not request.HasField("row_count")
    assert not request.HasField("seed")


def test_a_model_is_a_path_bytes_or_a_model_of_onnx(tmp_path: Path) -> None:
    content = MODEL.SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(content)

    for model in (path, str(path), content, bytearray(content), MODEL):
        assert to_request(model, ROWS).model.content == content
    with pytest.raises(TypeError, match="cannot read a model from int"):
        to_request(7, ROWS)
    with pytest.raises(FileNotFoundError):
        to_request(tmp_path / "none.onnx", ROWS)


class Boosted(LogisticRegression):  # type: ignore[misc] # scikit-learn ships no types
    """A model of a library that derives its own from scikit-learn's."""

    __module__ = "lightgbm.sklearn"


@pytest.mark.parametrize(
    ("model", "way"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), "skl2onnx.to_onnx"),
        (Boosted(), "onnxmltools.convert_lightgbm"),
    ],
)
def test_a_model_of_a_library_is_refused_with_the_way_to_an_onnx_file(
    model: object, way: str
) -> None:
    with pytest.raises(TypeError, match="write it to a file first") as refused:
        to_request(model, {"a": [1]})
    assert way in str(refused.value)
