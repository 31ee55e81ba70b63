"""Classes of a target meet outputs by equal names, equal numbers or labels that are given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.classes import ClassPairing, Outputs, format_label, pair, parse_number


def outputs(*names: str, labels: tuple[str, ...] = ()) -> Outputs:
    return Outputs(names, tuple(range(len(names))), class_labels=labels)


def column(values):
    return np.array(values, object if isinstance(values[0], str) else np.float64)


def paired(values, among: Outputs):
    found = pair(column(values), among, "target_column")
    return found.outputs.tolist(), [(one.label, one.output_name) for one in found.pairings]


def refused(values, among: Outputs) -> ExplainError:
    with pytest.raises(ExplainError) as refusal:
        pair(column(values), among, "target_column")
    assert refusal.value.reason is Reason.INVALID_OPTION
    return refusal.value


@pytest.mark.parametrize(
    ("values", "names", "places"),
    [
        pytest.param(["b", "a"], ("a", "b"), [1, 0], id="names"),
        pytest.param(["+1", "-1"], ("-1", "1"), [1, 0], id="signs"),
        pytest.param(["9", "010"], ("9", "10"), [0, 1], id="leading zeros"),
        pytest.param(["1e1", "5"], ("5", "10"), [1, 0], id="exponents"),
        pytest.param(["1.0", "1e0", "2."], ("1", "3", "2"), None, id="one class spelled twice"),
        pytest.param([1.0, 2.0], ("2", "1"), [1, 0], id="numbers and texts"),
        pytest.param([0.1, 10.0], ("1e1", ".1"), [1, 0], id="fractions"),
        pytest.param([1e17, 2.0], ("2", "100000000000000000"), [1, 0], id="large"),
        pytest.param([-0.0, 1.0], ("0", "1"), [0, 1], id="negative zero"),
        pytest.param(["1", "01"], ("01", "1"), [1, 0], id="names before numbers"),
        pytest.param([1.0, 0.0], ("False", "True"), [1, 0], id="truths, which tables hold as 1, 0"),
    ],
)
def test_classes_meet_outputs_of_the_same_name_or_number(
    values, names: tuple[str, ...], places
) -> None:
    if places is None:
        assert "both equal '1' of the outputs" in refused(values, outputs(*names)).message
        return

    found, pairings = paired(values, outputs(*names))

    assert found == places
    shown = [format_label(value) for value in values]
    assert pairings == [(shown[found.index(k)], names[k]) for k in sorted(found)]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        pytest.param(["<=50K", ">50K"], ("affluent", "regular"), id="renamed"),
        pytest.param([0.0, 1, 2], ("p_0", "p_1", "p_2"), id="numbered columns"),
        pytest.param(["A", "b"], ("a", "b"), id="case"),
        pytest.param(["1_0", "5"], ("10", "5"), id="underscore"),
        pytest.param([" 1", "0"], ("1", "0"), id="space"),
        pytest.param(["0x1", "0"], ("1", "0"), id="hexadecimal"),
        pytest.param(["nan", "0"], ("NaN", "0"), id="no number"),
        pytest.param(["９", "0"], ("9", "0"), id="other digits"),
        pytest.param([9007199254740992.0, 0.0], ("9007199254740993", "0"), id="rounded"),
        pytest.param(["1e99999999999999999999", "0"], ("1", "0"), id="endless"),
    ],
)
def test_whatever_else_is_refused_with_both_lists(values, names: tuple[str, ...]) -> None:
    error = refused(values, outputs(*names))

    assert error.field == "target_column"
    for text in (*map(format_label, values), *names):
        assert repr(text) in error.message
    assert "class_labels, the target's labels in the order of the outputs" in error.message


def test_a_class_that_the_model_does_not_know_is_refused() -> None:
    error = refused(["a", "b", "d"], outputs("a", "b", "c"))

    assert "no output has the name or the number of 'd'" in error.message
    assert "leave out rows of classes that the model does not know" in error.message


def test_a_class_of_the_model_need_not_occur() -> None:
    assert paired(["c", "a"], outputs("a", "b", "c")) == ([2, 0], [("a", "a"), ("c", "c")])


@pytest.mark.parametrize(
    ("values", "names", "words"),
    [
        (["1.0", "2"], ("1", "01", "2"), "'1.0' equals several of the outputs, '1', '01'"),
        ([1.0, 2], ("1", "1.0", "2"), "'1' equals several of the outputs, '1', '1.0'"),
        (["a", "a"], ("a", "a"), "'a' equals several"),
    ],
)
def test_what_equals_several_is_refused(values, names: tuple[str, ...], words: str) -> None:
    assert words in refused(values, outputs(*names)).message


def test_labels_that_are_given_are_in_the_order_of_the_outputs() -> None:
    among = outputs("affluent", "regular", labels=(">50K", "<=50K"))

    assert paired(["<=50K", ">50K"], among) == (
        [1, 0],
        [(">50K", "affluent"), ("<=50K", "regular")],
    )


def test_labels_that_are_given_may_be_missing_from_the_target() -> None:
    among = outputs("u", "v", "w", labels=("1", "2", "3"))

    found, pairings = paired([3.0, 1.0], among)

    assert found == [2, 0]
    assert pairings == [("1", "u"), ("2", "v"), ("3", "w")]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (("a",), "class_labels has 1 labels, 'a'; the model has 2 outputs, 'u', 'v'"),
        (("a", "b", "c"), "one label for each, in their order"),
        (("a", "a"), "must be distinct"),
        (("a", ""), "and not empty"),
        (("a", "c"), "the target holds 'b', which is not in class_labels, 'a', 'c'"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: tuple[str, ...], words: str) -> None:
    error = refused(["a", "b"], outputs("u", "v", labels=labels))

    assert error.field == "class_labels"
    assert words in error.message


@pytest.mark.parametrize(
    ("values", "name", "places"),
    [
        pytest.param([0.0, 1, 1], "p", [-1, 0, 0], id="0 and 1"),
        pytest.param([1.0, 1], "p", [0, 0], id="1 alone"),
        pytest.param(["0", "1"], "p", [-1, 0], id="as texts"),
        pytest.param(["no", "yes"], "yes", [-1, 0], id="named like the second"),
        pytest.param(["no", "yes"], "no", [0, -1], id="named like the first"),
        pytest.param([1.0, 2.0], "2", [-1, 0], id="numbered like the second"),
    ],
)
def test_the_only_output_scores_1_or_the_class_of_its_name(
    values, name: str, places: list[int]
) -> None:
    found, pairings = paired(values, outputs(name))

    assert found == places
    assert {end for _, end in pairings} <= {"", name}
    assert all((end == name) == (places[values.index(value)] == 0) for value in values
               for label, end in pairings if label == format_label(value))  # fmt: skip


@pytest.mark.parametrize(
    ("values", "name", "words"),
    [
        (["no", "yes"], "p", "the two labels of the target, the negative class first"),
        ([1.0, 2.0], "p", "class_labels"),
        (["-1", "+1"], "p", "class_labels"),
        ([0.0, 1.0], "0", "by its name it scores class 0, by convention class 1"),
        (["a", "b", "c"], "a", "scores at most two classes"),
        (["2024-01-01", "2024-01-02", "2024-01-03"], "days", "Send a date as the number that"),
        (["1", "1.0"], "p", "both labels are the same number"),
    ],
)
def test_the_only_output_meets_no_other_classes(values, name: str, words: str) -> None:
    assert words in refused(values, outputs(name)).message


def test_two_labels_of_the_only_output_have_the_negative_first() -> None:
    among = outputs("p", labels=("<=50K", ">50K"))

    assert paired([">50K", "<=50K"], among) == ([0, -1], [("<=50K", ""), (">50K", "p")])
    assert (
        "two labels, the negative class first"
        in refused(["a"], outputs("p", labels=("a",))).message
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_spelled_so_that_it_reads_back_as_the_same(value: float) -> None:
    text = format_label(value)

    assert parse_number(text) is not None
    assert float(text) == value


@given(st.permutations(range(5)), st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_the_order_of_the_outputs_does_not_matter(order: list[int], codes: list[int]) -> None:
    """A law: where outputs change places, so do the positions, and classes keep their names."""
    names = [f"class {k}" for k in order]

    found, pairings = paired([f"class {k}" for k in codes], outputs(*names))

    assert [names[k] for k in found] == [f"class {k}" for k in codes]
    assert all(label == end for label, end in pairings)
    assert pairings == [(names[k], names[k]) for k in sorted(set(found))]


def test_a_pairing_is_a_label_and_an_output() -> None:
    (one,) = pair(column(["a"]), outputs("a", "b"), "y").pairings

    assert one == ClassPairing("a", "a")
