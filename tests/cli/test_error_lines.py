"""Error lines: a short last line that names what the user typed."""

import pytest
from onnxplain_server.cli.terminal.error_lines import LONGEST_LINE, MORE, Names, error_line

NAMES = Names(
    flags={"target_column": "--target-column", "outputs": "--outputs"},
    files={"model": "risk.onnx", "table": "rows.csv"},
    methods=frozenset({"interactions"}),
)
MANY = ", ".join(f"'column_{number}'" for number in range(40))


def last_line(message: str, path: str = "", names: Names = NAMES) -> str:
    return error_line(message, "REASON", path, names).removeprefix("onnxplain: error: ")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("target_column", "--target-column"),
        ("model", "risk.onnx"),
        ("model.content", "risk.onnx"),
        ("table.csv", "rows.csv"),
        ("methods[0].interactions", "--method interactions"),
        ("methods[0].interactions.features[2]", "--set features"),
        ("methods[0].interactions.knockoffs.count", "--set knockoffs.count"),
        ("methods[0].firm.features[2]", "methods[0].firm.features[2]"),
        ("receipt", "receipt"),
    ],
)
def test_the_place_is_what_the_user_typed(path: str, place: str) -> None:
    assert last_line("wrong", path) == f"{place}: wrong (REASON)"


def test_an_option_that_a_flag_stands_for_is_that_flag() -> None:
    names = Names(
        methods=frozenset({"average_loss"}), options={"target_columns": "--target-column"}
    )

    assert last_line("no", "methods[0].average_loss.target_columns", names) == (
        "--target-column: no (REASON)"
    )


def test_an_option_names_its_method_where_several_are_asked_for() -> None:
    names = Names(methods=frozenset({"interactions"}), is_ambiguous=True)

    assert last_line("wrong", "methods[0].interactions.features", names) == (
        "--method interactions --set features: wrong (REASON)"
    )


def test_fields_in_a_message_are_flags_and_names_of_columns_stay() -> None:
    line = last_line("no outputs; 'target_column' is in target_column, not my_target_column")

    assert line == (
        "no outputs; 'target_column' is in --target-column, not my_target_column (REASON)"
    )


def test_fields_of_a_remote_model_are_flags() -> None:
    said = "model.remote.inputs lists none, and 'model.remote.name'"

    assert last_line(said, "model.remote.output_names", Names()) == (
        "--remote-output-names: --remote-inputs lists none, and 'model.remote.name' (REASON)"
    )
    assert last_line("no", "model.remote.inputs[0].type") == "--remote-inputs[0].type: no (REASON)"


def test_a_place_that_the_message_names_is_not_repeated() -> None:
    assert last_line("target_column is empty", "target_column") == (
        "--target-column is empty (REASON)"
    )
    assert last_line("interactions.count must be 1", "interactions.count") == (
        "--set count must be 1 (REASON)"
    )


@pytest.mark.parametrize(
    ("message", "short"),
    [
        (f"the table has no column 'x; y'; it has {MANY}", "the table has no column 'x; y'"),
        (
            f"the model takes 4, but the table has 40 ({MANY})",
            "the model takes 4, but the table has 40",
        ),
        (f"the classes are {MANY} and 8 more, not 'y'", "the classes are 'column_0', …, not 'y'"),
        (f"too new: takes up to 26. Export it, not {MANY}", "too new: takes up to 26"),
    ],
)
def test_a_long_message_is_its_first_sentence_unless_asked_for_whole(
    message: str, short: str
) -> None:
    assert error_line(message, "REASON") == f"onnxplain: error: {short}{MORE} (REASON)"
    assert error_line(message, "REASON", is_whole=True) == f"onnxplain: error: {message} (REASON)"


@pytest.mark.parametrize("text", ["('a' " * 500, "'a b', " * 500, "it's " * 500, "(" * 2_000])
def test_time_does_not_explode_with_quotes_and_parentheses(text: str) -> None:
    """Each of these has more ways to be split than could be tried."""
    last = error_line(text, "REASON")

    assert len(last) < 2 * LONGEST_LINE


def test_a_long_clause_is_cut_between_words() -> None:
    last = error_line("word " * 100, "REASON")

    assert len(last) <= LONGEST_LINE + len(f"onnxplain: error: {MORE} (REASON)")
    assert last.endswith(f"word …{MORE} (REASON)")


def test_line_breaks_and_codes_of_names_do_not_reach_the_terminal() -> None:
    line = error_line("no \x1b[31m\n feature", "REASON", "\x1b[2J")

    assert line == r"onnxplain: error: \u001b[2J: no \u001b[31m feature (REASON)"
