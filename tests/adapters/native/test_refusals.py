"""Refusals of native tree files: a line tells the place or the cause."""

import json
from pathlib import Path

import numpy as np
import pytest
from onnxplain_server.adapters.native import ubjson
from onnxplain_server.adapters.native.readers import read_forest
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import DEFAULT_LIMITS, ModelLimits
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.wire.requests.model_outline import check_outline

MODELS = Path(__file__).parents[2] / "models/native/xgboost/3.2.0"
INVALID, UNSUPPORTED = Reason.INVALID_MODEL, Reason.UNSUPPORTED_MODEL


def changed(path: str, value, name: str = "regression.json") -> bytes:
    """A model with another value at a path like "learner.objective.name"."""
    document = json.loads((MODELS / name).read_text())
    *keys, last = path.split(".")
    place = document
    for key in keys:
        place = place[int(key) if isinstance(place, list) else key]
    place[int(last) if isinstance(place, list) else last] = value
    return json.dumps(document).encode()


BOOSTER = "learner.gradient_booster"
TREE = f"{BOOSTER}.model.trees.0"


@pytest.mark.parametrize(
    ("path", "value", "reason", "words"),
    [
        (f"{BOOSTER}.name", "gblinear", UNSUPPORTED, "booster 'gblinear'"),
        ("learner.objective.name", "my:own", UNSUPPORTED, "objective 'my:own'"),
        ("learner.learner_model_param.base_score", "half", INVALID, "base_score is 'half'"),
        ("learner.learner_model_param.base_score", "[1,2]", INVALID, "2 values for 1 outputs"),
        ("learner.learner_model_param.num_class", "99999", Reason.MODEL_TOO_COMPLEX, "99,999"),
        ("learner.learner_model_param.num_feature", "1", INVALID, "compares feature"),
        ("learner.feature_names", ["a"], INVALID, "1 feature_names for 4 features"),
        (f"{BOOSTER}.model.gbtree_model_param.num_trees", "2000000000", INVALID, "has 3 trees"),
        (f"{BOOSTER}.model.tree_info", [0, 0, 7], INVALID, "a leaf for output 7 of 1"),
        (f"{TREE}.left_children.0", 0, INVALID, "tree 0, node 0, has a child"),
        (f"{TREE}.left_children.0", 2, INVALID, "is a child of two nodes"),
        (f"{TREE}.split_indices", [0.5], INVALID, "trees[0].split_indices has 1 values"),
        (f"{TREE}.split_conditions.0", "x", INVALID, "trees[0].split_conditions is no list of num"),
        (f"{TREE}.split_conditions.0", float("nan"), INVALID, "compares with NaN"),
        (f"{TREE}.tree_param", None, INVALID, "trees[0].tree_param is no object"),
    ],
)
def test_a_broken_or_foreign_model_is_refused_by_name(path, value, reason, words):
    with pytest.raises(ExplainError) as refused:
        load(changed(path, value))
    assert refused.value.reason is reason
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("objective", "score", "words"),
    [
        ("reg:squarederror", "inf", "no finite number"),
        ("reg:squarederror", "nan", "no finite number"),
        ("count:poisson", "1e39", "no finite number"),
        ("count:poisson", "nan", "not above 0"),
        ("reg:logistic", "nan", "no probability"),
    ],
)
def test_a_base_score_without_trees_is_a_finite_number(objective, score, words):
    document = json.loads((MODELS / "no_trees.json").read_text())
    document["learner"]["objective"]["name"] = objective
    document["learner"]["learner_model_param"]["base_score"] = score
    with pytest.raises(ExplainError, match=words) as refused:
        load(json.dumps(document).encode())
    assert refused.value.reason is INVALID


def test_sets_of_codes_that_overlap_are_refused():
    path = f"{TREE}.categories_segments.1"
    with pytest.raises(ExplainError, match="does not divide the categories into sets"):
        load(changed(path, 0, "sets.json"))


def test_trees_deeper_than_the_limit_are_refused():
    with pytest.raises(ExplainError, match="3 levels in a tree"):
        read_forest((MODELS / "regression.json").read_bytes(), ModelLimits(tree_depth=2))


def test_names_of_categories_that_xgboost_cut_are_refused():
    content = (MODELS / "named.ubj").read_bytes().replace(b"abcdefghi j", b"abcdefghi\xc3\xa4")
    with pytest.raises(ExplainError, match=r"letters beyond ASCII, which XGBoost before 3\.4 cuts"):
        load(content)


def test_the_old_binary_format_is_refused_with_what_to_do():
    for read in (load, check_outline):
        with pytest.raises(ExplainError, match=r"old binary format.*save it as \.json or \.ubj"):
            read(b"binf" + bytes(200))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "ends too early"),
        (b"{i\x01a[" * 70, "more than 64 containers"),
        (b"{i\x01a[$Z#L" + (2**60).to_bytes(8, "big"), "container of constants"),
        (b"{i\x01a[$d#L" + (2**60).to_bytes(8, "big"), "ends too early"),
        (b"{i\x01a[#L" + (2**60).to_bytes(8, "big"), "ends too early"),
        (b"{i\x01aSi\xff", "negative length"),
        (b"{i\x01aSi\x01\xff}", "no UTF-8"),
        (b"{i\x01aq}", "unknown marker 'q'"),
        (b"{}{}", "more content behind the end"),
    ],
)
def test_broken_ubjson_is_refused_at_its_place(content, words):
    with pytest.raises(ExplainError, match=words):
        ubjson.parse(content)


def test_ubjson_of_each_kind_is_read():
    content = (
        b"{i\x01aZi\x01bTi\x01cFi\x01dCxi\x01eSU\x02hiNi\x01f[U\xffI\xff\xfel\0\0\1\0]"
        b"i\x01g[#i\x02i\x01D\x3f\xf0\0\0\0\0\0\0i\x01h[$I#U\x02\0\1\xff\xff"
        b"i\x01i{#i\x01i\x01jZ}"
    )
    parsed = ubjson.parse(content)
    assert isinstance(parsed, dict)
    assert parsed.pop("h").tolist() == [1, -1]
    assert parsed == {
        "a": None,
        "b": True,
        "c": False,
        "d": "x",
        "e": "hi",
        "f": [255, -2, 256],
        "g": [1, 1.0],
        "i": {"j": None},
    }


@pytest.mark.parametrize(
    ("attributes", "rounds"),
    [
        ({}, 3),
        ({"best_iteration": "2"}, 3),
        ({"best_iteration": "0"}, 3),
        ({"best_iteration": "0", "scikit_learn": "{}"}, 1),
        ({"best_iteration": "1", "scikit_learn": "{}"}, 2),
    ],
)
def test_a_model_that_stopped_early_tells_which_rounds_predict(attributes, rounds):
    content = changed("learner.attributes", attributes)
    forest = read_forest(content, DEFAULT_LIMITS)
    assert forest is not None
    assert len(forest.nodes.roots) == rounds
    is_doubtful = attributes.get("best_iteration", "2") != "2"
    codes = [note.code for note in load(content).notes]
    assert (InputWarning.NATIVE_FILE_READING.name in codes) == is_doubtful


def test_json_with_infinities_is_read():
    """XGBoost writes NaN and Infinity, which JSON does not have."""
    leaf = f"{TREE}.split_conditions"
    conditions = json.loads((MODELS / "regression.json").read_text())
    conditions = conditions["learner"]["gradient_booster"]["model"]["trees"][0]["split_conditions"]
    content = changed(leaf, [float("inf"), *conditions[1:]])
    model = load(content)
    rows = np.zeros((1, 4), np.float32)
    assert np.isfinite(model.predict({model.inputs[0].name: rows})).all()
