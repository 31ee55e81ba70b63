"""Feature vectors through the use case and through messages: sources, notes, refusals."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, load_model
from onnxplain.results.canonical_json import to_json
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions, FeatureVectorsResult
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.methods.feature_vectors import forest_counts

pytestmark = pytest.mark.usefixtures("few_trees")

FOREST = Path(__file__).parents[1] / "golden/featurevectors/diabetes_rf/model.onnx"
BOOSTED = Path(__file__).parents[1] / "models/sklearn_gradient_boosting.onnx"
NAMES = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]

Ask = Callable[..., ExplainResponse]


def rows(names: Sequence[str] = NAMES, n: int = 60, **more) -> Table:
    random = np.random.default_rng(0)
    columns = [Column(name=name, numbers=random.normal(size=n)) for name in names]
    for name, values in more.items():
        text = isinstance(values[0], str)
        columns.append(Column(name=name, **{"strings" if text else "numbers": values}))
    return Table(columns=Columns(columns=columns))


def columns_model(node, width: int = 2) -> bytes:
    """A model of one operator on a matrix."""
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return bytes(model.SerializeToString())


def stumps(features: Sequence[int]) -> bytes:
    """Trees of one split each."""
    count = len(features)
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=np.repeat(range(count), 3).tolist(),
        nodes_nodeids=[0, 1, 2] * count,
        nodes_featureids=[i for feature in features for i in (feature, 0, 0)],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * count,
        nodes_values=[0.0] * 3 * count,
        nodes_truenodeids=[1, 0, 0] * count,
        nodes_falsenodeids=[2, 0, 0] * count,
        target_treeids=np.repeat(range(count), 2).tolist(),
        target_nodeids=[1, 2] * count,
        target_ids=[0, 0] * count,
        target_weights=[0.0, 1.0] * count,
    )
    return columns_model(node, max(features) + 1)


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(2)
    yield made
    made.close()


@pytest.fixture
def ask(runner: InProcess, make) -> Ask:
    """Ask for feature vectors as a transport does."""

    def asked(model: Path | bytes, table: Table | None = None, **given) -> ExplainResponse:
        content = model if isinstance(model, bytes) else model.read_bytes()
        about = {name: given.pop(name) for name in ("target_column", "feature_columns", "row_count")
                 if name in given}  # fmt: skip
        options = FeatureVectorsOptions(**given)
        request = ExplainRequest(
            model=Model(content=content),
            table=table,
            methods=[MethodOptions(feature_vectors=options)],
            **about,
        )
        answer = runner.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host()
        ).content
        return ExplainResponse.FromString(answer)

    return asked


def of(answer: ExplainResponse) -> FeatureVectorsResult:
    return answer.explanations[0].feature_vectors


def codes(answer: ExplainResponse) -> list[str]:
    warnings: list[Any] = list(answer.warnings)
    return [warning.code for warning in warnings]


def refusal(ask: Ask, *args, **given) -> ExplainError:
    with pytest.raises(ExplainError) as caught:
        ask(*args, **given)
    return caught.value


SMALL = {"sentence_count": 600, "depth": 3}


def test_a_forest_needs_no_table(ask: Ask) -> None:
    answer = ask(FOREST)

    assert of(answer).source == FeatureVectorsOptions.MODEL
    assert list(of(answer).features) == [f"f{j}" for j in range(10)]
    assert answer.receipt.engine == 0
    assert answer.receipt.row_count == 0


def test_feature_columns_name_the_features_where_there_is_no_table(ask: Ask) -> None:
    assert list(of(ask(FOREST, feature_columns=NAMES)).features) == NAMES


def test_a_table_changes_nothing_but_names(ask: Ask) -> None:
    with_rows, without = of(ask(FOREST, rows())), of(ask(FOREST))

    assert list(with_rows.features) == NAMES
    assert list(with_rows.vectors) == list(without.vectors)


def test_boosted_trees_are_explained_by_a_forest_grown_on_them(ask: Ask) -> None:
    names = list(json.loads(BOOSTED.with_suffix(".json").read_text())["columns"])

    answer = ask(BOOSTED, rows(names), **SMALL)

    assert of(answer).source == FeatureVectorsOptions.SURROGATE
    assert of(answer).forest.depth == 3
    assert answer.receipt.predicted_row_count == 0  # the trees engine tells its outputs


def test_boosted_trees_themselves_come_with_a_warning(ask: Ask) -> None:
    answer = ask(BOOSTED, source="MODEL")

    assert "BOOSTED_TREES" in codes(answer)


def test_options_come_back_with_their_defaults(ask: Ask) -> None:
    options = ask(FOREST, feature_columns=NAMES).explanations[0].options.feature_vectors

    assert options.source == FeatureVectorsOptions.MODEL
    assert list(options.features) == NAMES
    assert (options.window, options.dimension_count, options.neighbor_count) == (3, 2, 3)
    assert not options.HasField("sentence_count")


def test_a_function_without_trees_is_explained_by_a_surrogate(ask: Ask) -> None:
    """x1 · x2 of three columns: the third is the shortest."""
    node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=1)
    table = rows(["a", "b"], n=300)

    answer = ask(columns_model(node), table, **SMALL)

    assert of(answer).source == FeatureVectorsOptions.SURROGATE
    assert of(answer).sentence_count >= 600
    assert 0 < of(answer).forest.fidelity <= 1


def test_labels_are_learned_whatever_the_model(ask: Ask) -> None:
    random = np.random.default_rng(0)
    table = rows(n=200, kind=random.choice(["a", "b", "c"], 200).tolist())

    answer = ask(FOREST, table, source="LABELS", target_column="kind", **SMALL)

    assert of(answer).source == FeatureVectorsOptions.LABELS
    assert "LOW_FIDELITY" in codes(answer)
    assert answer.receipt.predicted_row_count == 0


def test_one_row_has_the_vectors_of_the_paths_that_it_takes(ask: Ask) -> None:
    """One path through each of the 100 trees; a row named twice takes each twice."""
    once = of(ask(FOREST, rows(), row_indices=[4], include_cooccurrence=True))
    twice = of(ask(FOREST, rows(), row_indices=[4, 4], include_cooccurrence=True))

    assert once.sentence_count == 100
    assert list(twice.cooccurrence) == [2 * value for value in once.cooccurrence]


def lengths_of_paths(model: Path) -> list[list[int]]:
    """Splits on each path of each tree, read from the file's attributes alone."""
    (node,) = (n for n in load_model(model).graph.node if n.op_type.startswith("TreeEnsemble"))
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    keys = [*zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True)]
    ends = zip(given["nodes_truenodeids"], given["nodes_falsenodeids"], strict=True)
    parent = {
        (tree, child): (tree, number)
        for (tree, number), mode, pair in zip(keys, given["nodes_modes"], ends, strict=True)
        if mode != b"LEAF"
        for child in pair
    }
    lengths: dict[int, list[int]] = {}
    for key, mode in zip(keys, given["nodes_modes"], strict=True):
        if mode == b"LEAF":
            length, at = 0, key
            while at in parent:
                length, at = length + 1, parent[at]
            lengths.setdefault(key[0], []).append(length)
    return [*lengths.values()]


@pytest.mark.parametrize("least", [0, 3, 4])
def test_paths_below_the_least_length_of_the_model_are_not_counted(ask: Ask, least: int) -> None:
    trees = [[n for n in lengths if n >= least] for lengths in lengths_of_paths(FOREST)]

    found = of(ask(FOREST, min_split_count=least))

    assert found.sentence_count == sum(map(len, trees))
    assert found.tree_count == sum(map(bool, trees))


def test_where_every_path_is_below_the_least_length_the_refusal_says_so(ask: Ask) -> None:
    error = refusal(ask, FOREST, min_split_count=9)

    assert "no path of at least 9 splits has" in error.message
    assert "lower min_split_count" in error.message


def test_paths_below_the_least_length_of_a_surrogate_are_not_counted(ask: Ask) -> None:
    """Of stumps none has two splits on its path, and none is longer than the depth."""
    node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=1)
    table = rows(["a", "b"], n=300)

    def counted(least: int, **given) -> int:
        answer = ask(columns_model(node), table, min_split_count=least, **SMALL, **given)
        return of(answer).sentence_count

    every, longest = counted(0), counted(SMALL["depth"])
    assert 0 < longest < every
    assert counted(0, row_indices=[4, 4]) == 2 * counted(0, row_indices=[4])
    assert counted(3, row_indices=[4]) <= counted(0, row_indices=[4])


def test_rows_together_take_the_paths_that_each_takes(ask: Ask) -> None:
    """So counts add up; in a surrogate too."""
    for source in ("MODEL", "SURROGATE"):
        counts = [
            np.array(
                of(
                    ask(FOREST, rows(), source=source, row_indices=chosen,
                        include_cooccurrence=True, **SMALL)
                ).cooccurrence
            )
            for chosen in ([1], [2, 3], [1, 2, 3])
        ]  # fmt: skip
        assert np.array_equal(counts[0] + counts[1], counts[2])


def test_repetitions_tell_how_far_vectors_would_move(ask: Ask) -> None:
    found = of(ask(FOREST, repeat_count=20))

    assert len(found.norm_standard_errors) == len(found.angle_standard_errors_degrees) == 10
    assert 0.9 < found.rank_correlation <= 1
    assert 0.01 < np.max(np.array(found.norm_standard_errors) / np.array(found.norms)) < 0.5


def test_repetitions_count_the_paths_that_the_rows_take(ask: Ask) -> None:
    """One of some thirty of each tree, so lengths and their errors are those of few paths."""
    found = of(ask(FOREST, rows(), row_indices=[4], repeat_count=20))

    longest = np.argmax(found.norms)
    assert 0 < found.norm_standard_errors[longest] < 0.5 * found.norms[longest]


def test_forests_are_grown_anew_for_each_repetition(ask: Ask) -> None:
    found = of(ask(FOREST, rows(), source="SURROGATE", repeat_count=3, **SMALL))

    assert (np.array(found.norm_standard_errors) > 0).all()


def test_a_seed_gives_the_same_answer_twice(ask: Ask) -> None:
    one, other = (of(ask(FOREST, rows(), source="SURROGATE", repeat_count=2, **SMALL))
                  for _ in range(2))  # fmt: skip

    assert one == other


def test_features_left_out_change_no_count_of_the_others(ask: Ask) -> None:
    every = np.array(of(ask(FOREST, include_cooccurrence=True)).cooccurrence).reshape(10, 10)

    some = of(ask(FOREST, features=["f8", "f2", "f3"], include_cooccurrence=True))

    chosen = [8, 2, 3]
    assert list(some.features) == ["f8", "f2", "f3"]
    assert (
        np.array(some.cooccurrence).reshape(3, 3).tolist() == every[np.ix_(chosen, chosen)].tolist()
    )


def test_similarity_is_the_cosine_between_vectors(ask: Ask) -> None:
    found = of(ask(FOREST, include_similarity=True, dimension_count=4))

    vectors = np.array(found.vectors).reshape(10, 4)
    unit = vectors / np.array(found.norms)[:, None]
    assert np.array(found.similarity).reshape(10, 10) == pytest.approx(unit @ unit.T)


def test_a_copy_is_told_and_independent_columns_are_not(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target follows five of ten columns; the last is a noisy copy of the third."""
    monkeypatch.setattr(forest_counts, "_COMPARED_TREES", 320)
    random = np.random.default_rng(1)
    values = random.normal(size=(1_000, 10))
    values[:, 9] = values[:, 2] + 0.01 * random.normal(size=1_000)
    target = values[:, :5] @ [1, 2, 2, 1, 1] + values[:, 2] * values[:, 3]
    columns = [Column(name=n, numbers=values[:, j]) for j, n in enumerate(NAMES)]
    columns.append(Column(name="target", numbers=target))

    found = of(
        ask(FOREST, Table(columns=Columns(columns=columns)), source="LABELS",
            target_column="target", include_similarity=True, repeat_count=2, **SMALL)
    )  # fmt: skip

    (pair,) = found.interchangeable
    assert (pair.first, pair.second) == (NAMES[2], NAMES[9])
    assert pair.repeat_share == 1
    adjusted = np.array(found.adjusted_similarity).reshape(10, 10)
    assert adjusted[2, 9] == pytest.approx(pair.adjusted_similarity)


def test_boosted_trees_of_the_model_tell_no_pair(ask: Ask) -> None:
    assert not of(ask(BOOSTED, source="MODEL")).interchangeable


def test_knockoffs_come_with_a_test(ask: Ask) -> None:
    random = np.random.default_rng(1)
    table = rows(n=200, target=random.normal(size=200).tolist())

    found = of(ask(FOREST, table, source="SURROGATE", feature_columns=NAMES,
                   knockoffs={"permutation_count": 500}, **SMALL)).knockoff_check  # fmt: skip

    assert len(found.norms) == len(found.knockoff_norms) == 10
    assert sum(found.permuted_counts) == 500
    assert 0 < found.p_value <= 1


def test_a_feature_that_matters_is_longer_than_its_knockoff(ask: Ask) -> None:
    """The target is the first column, whatever the model."""
    table = rows(n=300)
    truth = Column(name="target", numbers=list(table.columns.columns[0].numbers))
    table.columns.columns.append(truth)

    found = of(ask(FOREST, table, source="LABELS", feature_columns=NAMES, target_column="target",
                   knockoffs={"permutation_count": 100}, **SMALL)).knockoff_check  # fmt: skip

    assert found.norms[0] > 2 * found.knockoff_norms[0]


@pytest.mark.parametrize("engine", [ExplainRequest.TREES, ExplainRequest.BLACK_BOX])
def test_asked_again_no_forest_is_grown(runner: InProcess, make, engine) -> None:
    options = FeatureVectorsOptions(source="SURROGATE", repeat_count=2, sentence_count=600, depth=3)
    request = ExplainRequest(
        model=Model(content=FOREST.read_bytes()),
        table=rows(),
        engine=engine,
        methods=[MethodOptions(feature_vectors=options)],
    ).SerializeToString()
    host = make.host()

    first, again = (
        ExplainResponse.FromString(
            runner.answer(Call(ServiceMethod.EXPLAIN, request), host).content
        )
        for _ in range(2)
    )

    assert of(again) == of(first)
    assert first.receipt.cache_miss_count >= 4
    assert (again.receipt.cache_miss_count, again.receipt.predicted_row_count) == (0, 0)


def test_the_answer_is_canonical_json(ask: Ask) -> None:
    document = json.loads(to_json(ask(FOREST, repeat_count=2, include_similarity=True)))

    assert document["explanations"][0]["featureVectors"]["sentenceCount"] == 2923


def test_a_model_without_trees_is_told_of_the_surrogate(ask: Ask) -> None:
    node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=1)

    error = refusal(ask, columns_model(node), rows(["a", "b"]), source="MODEL")

    assert error.reason is Reason.UNSUPPORTED_MODEL
    assert "the model has no trees" in error.message
    assert "SURROGATE" in error.message
    assert error.field == "methods[0].feature_vectors.source"


def test_stumps_have_no_pairs(ask: Ask) -> None:
    error = refusal(ask, stumps([0, 1, 1]))

    assert error.reason is Reason.UNSUPPORTED_MODEL
    assert "trees of one split have none" in error.message


def test_stumps_that_are_grown_have_no_pairs_either(ask: Ask) -> None:
    error = refusal(ask, FOREST, rows(), source="SURROGATE", sentence_count=100, depth=1)

    assert error.reason is Reason.INVALID_OPTION
    assert "allow a larger depth" in error.message


def test_constant_predictions_leave_nothing_to_tell(ask: Ask) -> None:
    node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=1)
    table = Table(columns=Columns(columns=[Column(name=n, numbers=[0.0] * 9 + [0]) for n in "ab"]))

    error = refusal(ask, columns_model(node), table)

    assert "the model predicts the same in each of the 10 rows" in error.message


@pytest.mark.parametrize(
    ("given", "field", "part"),
    [
        ({"window": 1}, "window", "window is 1; it must be in [2, 64]"),
        ({"features": ["f1"]}, "features", "1 feature; vectors compare features"),
        ({"features": ["f1", "x"]}, "features", "'x' is no feature"),
        ({"dimension_count": 11}, "dimension_count", "in [2, 10]"),
        ({"repeat_count": 1}, "repeat_count", "1 repetition tells no spread"),
        ({"importance_floor": float("nan")}, "importance_floor", "it must be in [0, 1]"),
        ({"group_angle_degrees": -1}, "group_angle_degrees", "it must be in [0, 180]"),
        ({"neighbor_count": -1}, "neighbor_count", "it must be in [0, 100]"),
        ({"sentence_count": 3}, "sentence_count", "it must be in [100, 1e+07]"),
        ({"depth": 65}, "depth", "it must be in [1, 64]"),
        ({"min_split_count": -1}, "min_split_count", "it must be in [0, 1000]"),
        ({"source": 9}, "source", "source has no value number 9"),
        ({"counting": 9}, "counting", "counting has no value number 9"),
        ({"knockoffs": {}}, "knockoffs", "the model's own trees have no splits on knockoffs"),
    ],
)
def test_impossible_options_are_refused(
    ask: Ask, given: dict[str, Any], field: str, part: str
) -> None:
    error = refusal(ask, FOREST, **given)

    assert error.reason in {Reason.INVALID_OPTION, Reason.UNKNOWN_FEATURE}
    assert part in error.message
    assert error.field == f"methods[0].feature_vectors.{field}"


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"source": "SURROGATE"}, "no table: only the source MODEL needs none"),
        ({"row_indices": [0]}, "row_indices need a table"),
        ({"feature_columns": ["a"]}, "feature_columns names 1 columns, but the model takes 10"),
    ],
)
def test_what_needs_a_table_says_so(ask: Ask, given: dict[str, Any], part: str) -> None:
    assert part in refusal(ask, FOREST, **given).message


def test_a_model_that_needs_a_surrogate_needs_a_table(ask: Ask) -> None:
    error = refusal(ask, BOOSTED)

    assert (error.reason, error.field) == (Reason.INVALID_REQUEST, "table")


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"source": "LABELS"}, "no target: name the column with the true values"),
        ({"row_indices": [60]}, "each in [0, 59]; one is 60"),
        ({"source": "LABELS", "target_column": "nothing"}, "no column 'nothing'"),
        (
            {"source": "LABELS", "target_column": "word", "one_hot_target": False},
            "a target of text needs one_hot_target",
        ),
        (
            {"source": "LABELS", "target_column": "same"},
            "the target is the same in each of the 60 rows",
        ),
    ],
)
def test_what_the_table_lacks_is_named(ask: Ask, given: dict[str, Any], part: str) -> None:
    table = rows(word=["a", "b"] * 30, same=[1.0] * 60)

    assert part in refusal(ask, FOREST, table, feature_columns=NAMES, **given).message


def test_columns_without_knockoffs_are_named(ask: Ask) -> None:
    table = rows(NAMES[1:], age=[7.0] * 60)

    asked = {"source": "SURROGATE", "knockoffs": {}, **SMALL}
    error = refusal(ask, FOREST, table, feature_columns=NAMES, **asked)

    assert "leave 'age' out of features" in error.message


def test_other_methods_need_a_table(runner: InProcess, make) -> None:
    request = ExplainRequest(
        model=Model(content=FOREST.read_bytes()),
        methods=[MethodOptions(interactions=InteractionsOptions())],
    )

    with pytest.raises(ExplainError, match="no table: give it as arrow, parquet, csv or columns"):
        runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host())


def test_a_caller_who_leaves_ends_the_growth(runner: InProcess, make) -> None:
    options = FeatureVectorsOptions(source="SURROGATE", sentence_count=100_000, depth=3)
    request = ExplainRequest(
        model=Model(content=FOREST.read_bytes()),
        table=rows(),
        methods=[MethodOptions(feature_vectors=options)],
    )

    with pytest.raises(ExplainError) as caught:
        runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host(steps=10))

    assert caught.value.reason is Reason.CANCELLED
