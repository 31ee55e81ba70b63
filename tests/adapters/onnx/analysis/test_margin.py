"""Margins of hand-made graphs: variants that exporters might write, against the runtime."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnxplain_server.adapters.onnx import describe, load
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.model import Scale

ML = "ai.onnx.ml"
ROWS = np.array([[-1.0, 0.5, 2.0], [0.0, -2.0, 1.0], [3.0, 1.0, -1.0], [0.2, 0.1, 0.0]], np.float32)


def stump(
    build,
    weights,
    ids,
    *,
    transform="LOGISTIC",
    labels=(0, 1),
    **more,
):
    """One tree that asks x0 <= 0 and then gives weights[0] or else weights[1]."""
    return build.node(
        "TreeEnsembleClassifier",
        "X",
        "label y",
        domain=ML,
        classlabels_int64s=list(labels),
        class_treeids=[0] * len(ids),
        class_nodeids=[1, 2] * (len(ids) // 2),
        class_ids=ids,
        class_weights=weights,
        **tree_attributes(),
        post_transform=transform,
        **more,
    )


def tree_attributes():
    return {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.0, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "nodes_hitrates": [1.0, 1.0, 1.0],
        "nodes_missing_value_tracks_true": [0, 0, 0],
    }


def regressor(
    build,
    transform="NONE",
    outputs="y",
    ids=(0, 0),
    n_targets=1,
    **more,
):
    return build.node(
        "TreeEnsembleRegressor",
        "X",
        outputs,
        domain=ML,
        target_treeids=[0, 0],
        target_nodeids=[1, 2],
        target_ids=list(ids),
        target_weights=[-1.5, 0.75],
        n_targets=n_targets,
        post_transform=transform,
        **tree_attributes(),
        **more,
    )


def linear(build, rows, intercepts, transform="LOGISTIC", labels=(0, 1)):
    return build.node(
        "LinearClassifier",
        "X",
        "label y",
        domain=ML,
        coefficients=np.ravel(rows).tolist(),
        intercepts=intercepts,
        classlabels_ints=list(labels),
        post_transform=transform,
    )


def classifier(build, *nodes, **constants):
    outputs = {"label": TensorProto.INT64, "y": TensorProto.FLOAT}
    return build(nodes, outputs, **constants).SerializeToString()


def margins(content, rows=ROWS):
    return load(content, Scale.MARGIN).predict({"X": rows})


def refusal(content):
    with pytest.raises(ExplainError) as refused:
        load(content, Scale.MARGIN)
    return refused.value.message


def after_stump(left, right, rows=ROWS):
    return np.where(rows[:, 0] <= 0, left, right)


def both_signs(scores):
    return np.column_stack([-scores, scores])


@pytest.mark.parametrize("weights", [(-1.0, 2.0), (0.25, 2.0), (-1.0, -0.5)])
@pytest.mark.parametrize("base", [[], [0.25]])
def test_one_column_of_tree_weights_counts_for_the_second_class(build, weights, base) -> None:
    more = {"base_values": base} if base else {}
    content = classifier(build, stump(build, weights, [0, 0], **more))

    assert margins(content) == pytest.approx(both_signs(after_stump(*weights) + sum(base)))


def test_tree_weights_of_the_second_class_alone_leave_the_first_at_zero(build) -> None:
    softmax = classifier(build, stump(build, [-1.0, 2.0], [1, 1], transform="SOFTMAX"))
    logistic = classifier(build, stump(build, [-1.0, 2.0], [1, 1]))

    assert margins(softmax) == pytest.approx(both_signs(after_stump(-1, 2)))
    assert load(logistic).predict({"X": ROWS})[:, 0] == pytest.approx([0.5] * len(ROWS))
    assert margins(logistic)[:, 0].tolist() == [0.0] * len(ROWS)


@pytest.mark.parametrize("ids", [[0, 0], [1, 1]])
def test_what_the_runtime_answers_in_a_way_of_its_own_has_no_margin(build, ids) -> None:
    """With two base values and weights for one class, onnxruntime does not add them all."""
    content = classifier(build, stump(build, [-1.0, 2.0], ids, base_values=[0.1, 0.25]))

    assert "the runtime" in refusal(content)
    assert describe(content).margin_refusal == refusal(content)


def test_two_columns_of_tree_weights_are_two_scores(build) -> None:
    content = classifier(build, stump(build, [1.0, -2.0, -1.0, 2.0], [0, 0, 1, 1]))

    assert margins(content) == pytest.approx(both_signs(after_stump(-1, 2)))


@pytest.mark.parametrize("transform", ["SOFTMAX", "SOFTMAX_ZERO"])
def test_softmax_of_two_scores_is_the_logistic_of_their_difference(build, transform) -> None:
    content = classifier(
        build, stump(build, [1.0, -2.0, 0.5, 3.0], [0, 0, 1, 1], transform=transform)
    )

    assert margins(content) == pytest.approx(both_signs(after_stump(-0.5, 5)))


def test_three_classes_keep_their_scores(build) -> None:
    weights, ids = [1.0, -2.0, 0.5, 3.0, -1.0, 0.25], [0, 0, 1, 1, 2, 2]
    node = stump(build, weights, ids, transform="SOFTMAX", labels=(4, 5, 6))

    expected = np.column_stack([after_stump(*pair) for pair in np.reshape(weights, (3, 2))])

    assert margins(classifier(build, node)) == pytest.approx(expected)


def test_trees_of_double_type_are_read_too(build) -> None:
    weights = np.array([-1.0, 2.0])
    node = stump(build, [0.0, 0.0], [0, 0])
    stored = [a for a in node.attribute if a.name not in {"class_weights", "nodes_values"}]
    extra = build.node("Any", "", "", class_weights_as_tensor=build.tensor(weights),
                       nodes_values_as_tensor=build.tensor(np.zeros(3)))  # fmt: skip
    del node.attribute[:]
    node.attribute.extend([*stored, *extra.attribute])
    inputs = [build.input("X", [None, 3], TensorProto.DOUBLE)]
    outputs = {"label": TensorProto.INT64, "y": TensorProto.FLOAT}
    content = build([node], outputs, inputs).SerializeToString()

    assert margins(content, ROWS.astype(float)) == pytest.approx(both_signs(after_stump(-1, 2)))


def test_a_linear_classifier_of_one_row_scores_its_second_class(build) -> None:
    content = classifier(build, linear(build, [[1.0, -2.0, 0.5]], [0.25]))

    expected = ROWS @ np.array([1.0, -2.0, 0.5]) + 0.25

    assert margins(content) == pytest.approx(both_signs(expected), rel=1e-5)


def test_a_linear_softmax_keeps_its_scores(build) -> None:
    rows = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0], [2.0, 0.0, -1.0]])
    node = linear(build, rows, [0.1, 0.2, 0.3], "SOFTMAX", labels=(0, 1, 2))

    assert margins(classifier(build, node)) == pytest.approx(
        ROWS @ rows.T + [0.1, 0.2, 0.3], rel=1e-5
    )


def test_a_linear_classifier_of_whole_numbers_has_a_margin(build) -> None:
    inputs = [build.input("X", [None, 3], TensorProto.INT64)]
    outputs = {"label": TensorProto.INT64, "y": TensorProto.FLOAT}
    node = linear(build, [[0.5, -1.0, 0.25]], [0.0])
    whole = np.array([[1, 2, 3], [-4, 0, 2]])

    actual = margins(build([node], outputs, inputs).SerializeToString(), whole)

    assert actual == pytest.approx(both_signs(whole @ np.array([0.5, -1.0, 0.25])))


def test_a_regressor_that_ends_in_a_softmax_keeps_its_scores(build) -> None:
    node = regressor(build, "SOFTMAX", ids=(0, 1), n_targets=3)
    scores = np.zeros((len(ROWS), 3))
    scores[:, 0], scores[:, 1] = after_stump(-1.5, 0), after_stump(0, 0.75)

    assert margins(build([node]).SerializeToString()) == pytest.approx(scores)


def test_a_logistic_that_the_runtime_leaves_out_is_not_undone(build) -> None:
    """Onnxruntime answers a regressor of one target with the sum itself in spite of LOGISTIC."""
    content = build([regressor(build, "LOGISTIC")]).SerializeToString()

    assert load(content).predict({"X": ROWS})[:, 0] == pytest.approx(after_stump(-1.5, 0.75))
    assert "the model's answer is already additive" in refusal(content)


def test_a_sigmoid_after_trees_is_undone_through_what_only_moves_values(build) -> None:
    content = build(
        [
            regressor(build, outputs="sum"),
            build.node("Mul", "sum two", "scaled"),
            build.node("Add", "scaled one", "score"),
            build.node("Sigmoid", "score", "p"),
            build.node("Identity", "p", "q"),
            build.node("Sub", "one q", "rest"),
            build.node("Concat", "rest q", "pair", axis=1),
            build.node("Reshape", "pair shape", "y"),
        ],
        one=np.array([1.0], np.float32),
        two=np.array([2.0], np.float32),
        shape=np.array([-1, 2]),
    ).SerializeToString()

    assert margins(content) == pytest.approx(both_signs(after_stump(-2, 2.5)))


def test_a_softmax_after_one_matrix_product_is_undone(build) -> None:
    weights = np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0], [0.0, 1.0, 1.0]], np.float32)
    content = build(
        [build.node("Gemm", "X w b", "score"), build.node("Softmax", "score", "y", axis=1)],
        w=weights,
        b=np.array([0.5, 0.0, -0.5], np.float32),
    ).SerializeToString()

    assert margins(content) == pytest.approx(ROWS @ weights + [0.5, 0, -0.5], rel=1e-5)


def test_a_logistic_divided_by_its_sum_has_the_scores_before_it(build) -> None:
    weights = np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0], [0.0, 1.0, 1.0]], np.float32)
    content = build(
        [
            build.node("MatMul", "X w", "score"),
            build.node("Sigmoid", "score", "p"),
            build.node("Normalizer", "p", "y", domain=ML, norm="L1"),
        ],
        w=weights,
    ).SerializeToString()

    assert margins(content) == pytest.approx(ROWS @ weights, rel=1e-5)


def test_a_network_before_a_sigmoid_is_refused(build) -> None:
    content = build(
        [
            build.node("MatMul", "X w", "h"),
            build.node("Relu", "h", "r"),
            build.node("MatMul", "r w", "score"),
            build.node("Sigmoid", "score", "y"),
        ],
        w=np.eye(3, dtype=np.float32),
    ).SerializeToString()

    assert "computes Relu" in refusal(content)


def test_a_product_of_features_is_refused(build) -> None:
    content = build(
        [build.node("Mul", "X X", "square"), build.node("Sigmoid", "square", "y")]
    ).SerializeToString()

    assert "computes Mul" in refusal(content)


def test_a_classifier_on_top_of_another_is_refused(build) -> None:
    content = build(
        [
            regressor(build, "LOGISTIC", outputs="p", n_targets=2),
            build.node("Mul", "p two", "score"),
            build.node("Sigmoid", "score", "y"),
        ],
        two=np.array([2.0], np.float32),
    ).SerializeToString()

    assert "computes TreeEnsembleRegressor" in refusal(content)


@pytest.mark.parametrize("aggregate", ["MIN", "MAX"])
def test_trees_that_do_not_add_up_are_refused(build, aggregate) -> None:
    content = build(
        [
            regressor(build, outputs="score", aggregate_function=aggregate),
            build.node("Sigmoid", "score", "y"),
        ]
    ).SerializeToString()

    assert "computes TreeEnsembleRegressor" in refusal(content)


def test_a_probit_is_refused(build) -> None:
    content = classifier(build, stump(build, [0.2, 0.9], [1, 1], transform="PROBIT"))

    assert "MARGIN is not available" in refusal(content)


def test_raw_scores_of_a_tree_classifier_are_already_additive(build) -> None:
    content = classifier(
        build, stump(build, [1.0, -2.0, -1.0, 2.0], [0, 0, 1, 1], transform="NONE")
    )

    assert "already additive" in refusal(content)


def test_averaged_probabilities_are_refused_as_such(build) -> None:
    content = classifier(
        build, stump(build, [0.25, 0.5, 0.75, 0.5], [0, 0, 1, 1], transform="NONE")
    )

    assert "averages the probabilities" in refusal(content)


def test_a_part_of_a_softmax_is_refused(build) -> None:
    """One column of three scores does not tell its probability."""
    content = build(
        [
            build.node("Gemm", "X w", "score"),
            build.node("Softmax", "score", "p", axis=1),
            build.node("Gather", "p first", "y", axis=1),
        ],
        w=np.eye(3, dtype=np.float32),
        first=np.array([0]),
    ).SerializeToString()

    assert "does not compute the model's answer as SOFTMAX" in refusal(content)


def test_a_probability_that_is_copied_into_columns_has_no_score_per_column(build) -> None:
    content = build(
        [
            build.node("MatMul", "X w", "score"),
            build.node("Sigmoid", "score", "p"),
            build.node("Mul", "p ones", "y"),
        ],
        w=np.ones((3, 1), np.float32),
        ones=np.ones((1, 3), np.float32),
    ).SerializeToString()

    assert "not one per prediction column" in refusal(content)


def test_a_mixture_of_links_is_refused(build) -> None:
    content = build(
        [
            build.node("Softmax", "X", "p"),
            build.node("Sigmoid", "X", "q"),
            build.node("Concat", "p q", "y", axis=1),
        ]
    ).SerializeToString()

    assert "mixes LOGISTIC and SOFTMAX" in refusal(content)


@pytest.mark.parametrize("step", ["Binarizer", "LabelEncoder"])
def test_a_step_after_a_linear_map_makes_it_a_network(build, step: str) -> None:
    steps: dict[str, Any] = {
        "Binarizer": {"threshold": 0.0},
        "LabelEncoder": {"keys_floats": [0.0], "values_floats": [1.0]},
    }
    content = build(
        [
            build.node("MatMul", "X w", "hidden"),
            build.node(step, "hidden", "units", domain=ML, **steps[step]),
            build.node("MatMul", "units w", "score"),
            build.node("Sigmoid", "score", "y"),
        ],
        w=np.eye(3, dtype=np.float32),
    ).SerializeToString()

    assert "computes MatMul" in refusal(content)


def test_several_outputs_have_margins_if_each_has_one(build) -> None:
    classes = stump(build, [-1.0, 2.0], [0, 0])
    copied = build.node("Identity", "y", "z")
    both = {"y": TensorProto.FLOAT, "z": TensorProto.FLOAT}
    mixed = build([classes, regressor(build, outputs="z")], both).SerializeToString()

    actual = margins(build([classes, copied], both).SerializeToString())

    assert actual == pytest.approx(np.tile(both_signs(after_stump(-1, 2)), 2))
    assert "already additive" in refusal(mixed)


@pytest.mark.parametrize("offset", [-200.0, 200.0])
def test_scores_at_which_probabilities_underflow_are_still_scores(build, offset) -> None:
    content = build(
        [
            build.node("MatMul", "X w", "far"),
            build.node("Add", "far offset", "score"),
            build.node("Sigmoid", "score", "y"),
        ],
        w=np.eye(3, dtype=np.float32),
        offset=np.array([offset], np.float32),
    ).SerializeToString()

    assert margins(content) == pytest.approx(ROWS + offset)


def test_describing_does_not_change_what_is_explained(build) -> None:
    content = classifier(build, stump(build, [-1.0, 2.0], [1, 1]))

    assert describe(content).operators == ("ai.onnx.ml:TreeEnsembleClassifier",)
