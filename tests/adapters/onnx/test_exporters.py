"""Models of real exporters answer as the programs that trained them."""

import numpy as np
import pytest
from onnx import ModelProto
from onnxplain_server.adapters.onnx import describe, load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Scale

BINARY = [
    "catboost_binary",
    "interpret_binary",
    "lightgbm_binary",
    "lightgbm_binary_zipmap",
    "lightgbm_categorical_binary",
    "sklearn_columns_error",
    "sklearn_columns_ignore",
    "sklearn_gradient_boosting_binary",
    "sklearn_hist_gradient_boosting_binary",
    "sklearn_logistic_binary",
    "sklearn_logistic_binary_double",
    "xgboost_binary",
]
SOFTMAX = [
    "catboost_3class",
    "lightgbm_3class",
    "lightgbm_3class_zipmap",
    "lightgbm_categorical_3class",
    "sklearn_gradient_boosting_3class",
    "sklearn_hist_gradient_boosting_3class",
    "sklearn_logistic_3class",
    "sklearn_logistic_3class_double",
    "xgboost_3class",
    "xgboost_file",
]
ONE_VERSUS_REST = ["sklearn_one_versus_rest"]
WITHOUT_MARGIN = {
    "batch_of_one": "already additive",
    "batch_of_one_inside": "already additive",
    "catboost_regressor": "already additive",
    "flat_columns": "already additive",
    "half": "what it was fed",
    "interpret_regressor": "already additive",
    "lightgbm_categorical_regressor": "already additive",
    "lightgbm_poisson": "computes Exp",
    "lightgbm_regressor": "already additive",
    "network_double": "computes Relu",
    "network_float": "computes Relu",
    "sklearn_bagged_votes": "computes ReduceMean",
    "sklearn_gradient_boosting": "already additive",
    "sklearn_linear": "already additive",
    "sklearn_linear_svc": "already additive",
    "sklearn_linear_svc_labels_only": "only class labels",
    "sklearn_network_3class": "computes Relu",
    "sklearn_network_binary": "computes Relu",
    "sklearn_random_forest_3class": "averages the probabilities",
    "sklearn_random_forest_binary": "averages the probabilities",
    "sklearn_random_forest_two_targets": "already additive",
    "sklearn_tree_int64": "already additive",
    "sklearn_votes_of_columns": "already additive",
    "two_outputs": "already additive",
    "xgboost_regressor": "already additive",
}
WITH_MARGIN = BINARY + SOFTMAX + ONE_VERSUS_REST
NOTES = {
    "batch_of_one_inside": ["ROW_BY_ROW"],
    "interpret_regressor": ["OUTPUT_LEFT_OUT"],
    "sklearn_linear_svc_labels_only": ["LABELS_ONLY"],
}
FLOAT_ROUNDING = 1e-6


def predict(case, scale=Scale.RESPONSE):
    model = load(case.content, scale)
    return model.predict(case.feeds(model.inputs))


def test_every_committed_model_is_compared(cases) -> None:
    assert sorted(cases) == sorted([*WITH_MARGIN, *WITHOUT_MARGIN])


@pytest.mark.parametrize("name", [*WITH_MARGIN, *WITHOUT_MARGIN])
def test_predictions_are_those_of_the_training_library(cases, name) -> None:
    case = cases[name]
    tolerance = FLOAT_ROUNDING * max(1, np.abs(case.response).max())

    assert predict(case) == pytest.approx(case.response, rel=0, abs=tolerance)


@pytest.mark.parametrize("name", [*WITH_MARGIN, *WITHOUT_MARGIN])
def test_columns_are_named_after_classes_or_outputs(cases, name) -> None:
    assert load(cases[name].content).output_names == cases[name].output_names


@pytest.mark.parametrize("name", [*WITH_MARGIN, *WITHOUT_MARGIN])
def test_only_models_that_need_it_carry_a_note(cases, name) -> None:
    assert [note.code for note in load(cases[name].content).notes] == NOTES.get(name, [])


@pytest.mark.parametrize("name", WITH_MARGIN)
def test_margins_are_the_raw_scores_of_the_training_library(cases, name) -> None:
    case = cases[name]
    tolerance = 4 * FLOAT_ROUNDING * max(1, np.abs(case.margin).max())

    assert predict(case, Scale.MARGIN) == pytest.approx(case.margin, rel=0, abs=tolerance)


@pytest.mark.parametrize("name", BINARY)
def test_logistic_of_a_margin_is_the_probability_of_its_class(cases, name) -> None:
    margins = predict(cases[name], Scale.MARGIN).astype(float)

    logistic = 1 / (1 + np.exp(-margins))

    assert logistic == pytest.approx(predict(cases[name]), rel=0, abs=FLOAT_ROUNDING)


@pytest.mark.parametrize("name", SOFTMAX)
def test_softmax_of_the_margins_is_the_probabilities(cases, name) -> None:
    powers = np.exp(predict(cases[name], Scale.MARGIN).astype(float))

    softmax = powers / powers.sum(axis=1, keepdims=True)

    assert softmax == pytest.approx(predict(cases[name]), rel=0, abs=FLOAT_ROUNDING)


@pytest.mark.parametrize("name", WITH_MARGIN)
def test_margins_carry_the_names_and_inputs_of_the_response(cases, name) -> None:
    response = load(cases[name].content)
    margin = load(cases[name].content, Scale.MARGIN)

    assert (margin.output_names, margin.inputs) == (response.output_names, response.inputs)


@pytest.mark.parametrize("name", WITH_MARGIN)
def test_both_scales_are_described_where_both_exist(cases, name) -> None:
    assert describe(cases[name].content).scales == (Scale.RESPONSE, Scale.MARGIN)


@pytest.mark.parametrize(("name", "reason"), WITHOUT_MARGIN.items())
def test_a_missing_margin_is_refused_with_its_reason(cases, name, reason) -> None:
    with pytest.raises(ExplainError, match=reason) as refused:
        load(cases[name].content, Scale.MARGIN)

    assert refused.value.reason is Reason.MARGIN_UNAVAILABLE
    assert describe(cases[name].content).margin_refusal == refused.value.message
    assert describe(cases[name].content).scales == (Scale.RESPONSE,)


@pytest.mark.parametrize("name", ["lightgbm_3class_zipmap", "catboost_binary"])
def test_a_zipmap_does_not_change_predictions(cases, name) -> None:
    """The runtime's own maps, read by hand, against the tensor behind them."""
    onnxruntime = pytest.importorskip("onnxruntime")
    case = cases[name]
    session = onnxruntime.InferenceSession(case.content, providers=["CPUExecutionProvider"])
    maps = session.run(["probabilities"], case.feeds(load(case.content).inputs))[0]

    by_hand = [[row[int(label)] for label in case.output_names] for row in maps]

    # Sums of float32, which the runtime's own session makes on several threads.
    assert predict(case) == pytest.approx(np.array(by_hand), rel=1e-6)


@pytest.mark.parametrize("name", ["lightgbm_binary", "sklearn_logistic_3class", "xgboost_binary"])
def test_a_number_of_columns_left_open_changes_no_answer(cases, name: str) -> None:
    case = cases[name]
    left_open = ModelProto.FromString(case.content)
    left_open.graph.input[0].type.tensor_type.shape.dim[1].Clear()
    rows = case.feeds(load(case.content).inputs)

    for scale in Scale:
        model = load(left_open.SerializeToString(), scale)
        # Sums of float32, in whatever order the runtime has for the shape.
        assert model.predict(rows) == pytest.approx(predict(case, scale), rel=1e-6)


def test_inputs_keep_the_names_and_types_of_the_columns(cases) -> None:
    inputs = load(cases["sklearn_columns_error"].content).inputs

    assert {each.name: each.type for each in inputs} == {
        "Age": "int64",
        "Gender": "string",
        "Total_Bilirubin": "float",
        "Direct_Bilirubin": "float",
        "Alkaline_Phosphotase": "int64",
        "Alamine_Aminotransferase": "int64",
        "Aspartate_Aminotransferase": "int64",
        "Total_Protiens": "float",
        "Albumin": "float",
        "Albumin_and_Globulin_Ratio": "float",
    }
    assert {each.width for each in inputs} == {1}


def test_a_description_tells_what_wrote_the_model_and_with_which_operators(cases) -> None:
    content = cases["lightgbm_binary_zipmap"].content

    description = describe(content)

    assert description.producer == "OnnxMLTools"
    assert description.operators == (
        "Cast",
        "Identity",
        "ai.onnx.ml:TreeEnsembleClassifier",
        "ai.onnx.ml:ZipMap",
    )
    assert description.output_names == ("0", "1")
    assert [each.width for each in description.inputs] == [8]


def test_a_digest_is_that_of_the_bytes(cases) -> None:
    content = cases["sklearn_linear"].content

    assert describe(content).digest.startswith("sha256:")
    assert describe(content).digest != describe(content + b"\x08\x08").digest
