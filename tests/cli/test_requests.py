"""Requests built from the arguments of `explain`."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from onnxplain.v1.explanation_service_pb2 import (
    CheckModelRequest,
    DescribeTableRequest,
    ExplainRequest,
    MethodOptions,
    PredictRequest,
)
from onnxplain_server.cli.commands import command
from onnxplain_server.cli.requests.flag_names import flags_by_field
from typer.testing import Result

Run = Callable[..., Result]


def methods(*options) -> list[MethodOptions]:
    return [MethodOptions(**option) for option in options]


def explain_flags() -> set[str]:
    return {param.name for param in command("explain").params}


def test_every_field_of_the_request_is_a_flag_of_its_name() -> None:
    fields = {field.name for field in ExplainRequest.DESCRIPTOR.fields}
    # Parts of an answer are for streams; several targets are those of --target-column; references
    # are the first argument of `compare`.
    assert fields - {"methods", "partial", "target_columns", "reference"} < explain_flags()


OTHERWISE = {"row_indices": "--rows", "target_columns": "--target-column"}


@pytest.mark.parametrize(
    ("name", "message", "without"),
    [
        ("explain", ExplainRequest, {"methods", "partial", "reference"}),
        ("predict", PredictRequest, {"output_indices"}),
        ("describe", DescribeTableRequest, set()),
        ("check", CheckModelRequest, {"output_indices"}),
    ],
)
def test_errors_know_a_flag_of_each_field(name: str, message, without: set[str]) -> None:
    made = command(name)
    fields = {field.name for field in message.DESCRIPTOR.fields} - {"model", "table"} - without
    context = typer.Context(made)
    context.params = {param.name: None for param in made.params}
    given = {**context.params, "expected_prediction_columns": ["p"]}
    flags = flags_by_field(context, fields)
    context.params = given

    own = {field: f"--{field.replace('_', '-')}" for field in fields}
    other = {field: flag for field, flag in OTHERWISE.items() if field in fields}
    assert {**flags, **flags_by_field(context, fields)} == {**own, **other}
    assert flags.get("expected_prediction_columns") in {
        "check": {"--against"},
        "explain": {"--expected-prediction-columns"},
    }.get(name, {None})


def test_the_files_go_in_the_form_that_they_have(run: Run, parts, model: Path, table: Path) -> None:
    run("explain", model, table, "--method", "interactions")

    assert parts.request.model.content == model.read_bytes()
    assert parts.request.table.csv == b"age,bmi\n20,21\n"


def test_a_packed_table_is_unpacked(run: Run, parts, model: Path, tmp_path: Path) -> None:
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(b"age\n20\n"))

    run("explain", model, packed, "--method", "interactions")

    assert parts.request.table.csv == b"age\n20\n"


@pytest.mark.parametrize("stdin", ["model", "table"])
def test_one_file_may_come_from_standard_input(
    run: Run, parts, model: Path, table: Path, stdin: str
) -> None:
    given = ["-" if stdin == "model" else model, "-" if stdin == "table" else table]

    run("explain", *given, "--method", "interactions", stdin=b"piped")

    sent = {"model": parts.request.model.content, "table": parts.request.table.csv}
    assert sent[stdin] == b"piped"


def test_two_files_cannot_both_be_standard_input(run: Run) -> None:
    result = run("explain", "-", "-", "--method", "interactions", stdin=b"")
    assert result.exit_code == 2
    assert "only one" in result.stderr


def test_settings_belong_to_the_method_before_them(
    run: Run, parts, model: Path, table: Path
) -> None:
    run(
        *("explain", model, table),
        *("--method", "interactions", "--set", "pairwise_feature_count=3"),
        *("--set", 'features=["age", "bmi"]'),
        *("--method", "partialDependence", "--set", "gridSize=10", "--set", "strategy=QUANTILE"),
    )

    assert list(parts.request.methods) == methods(
        {"interactions": {"pairwise_feature_count": 3, "features": ["age", "bmi"]}},
        {"partial_dependence": {"grid_size": 10, "strategy": "QUANTILE"}},
    )


@pytest.mark.parametrize(
    ("typed", "features"),
    [
        ("age", ["age"]),
        ("age, bmi", ["age", "bmi"]),
        ('"a,b",c', ["a,b", "c"]),
        ('["a,b", "c"]', ["a,b", "c"]),
        ("2020", ["2020"]),
        ("min(a, b),c > 1", ["min(a, b)", "c > 1"]),
        ("x == 'a,b',`c,d`", ["x == 'a,b'", "`c,d`"]),
    ],
)
def test_names_of_a_list_have_commas_between(
    run: Run, parts, model: Path, table: Path, typed: str, features: list[str]
) -> None:
    run("explain", model, table, "--method", "firm", "--set", f"features={typed}")
    assert list(parts.request.methods) == methods({"firm": {"features": features}})


@pytest.mark.parametrize(
    ("typed", "groups"),
    [
        ("age,bmi", [["age"], ["bmi"]]),
        ('["age", {"names": ["a", "b"]}]', [["age"], ["a", "b"]]),
        ('["age", ["a", "b"]]', [["age"], ["a", "b"]]),
        ("2020", [["2020"]]),
    ],
)
def test_a_name_stands_for_a_group_of_one_and_a_list_for_a_group(
    run: Run, parts, model: Path, table: Path, typed: str, groups: list[list[str]]
) -> None:
    run("explain", model, table, "--method", "partial_dependence", "--set", f"features={typed}")
    expected = {"features": [{"names": names} for names in groups]}
    assert list(parts.request.methods) == methods({"partial_dependence": expected})


@pytest.mark.parametrize(
    "method",
    [
        field.name
        for field in MethodOptions.DESCRIPTOR.fields
        if field.message_type and "features" in field.message_type.fields_by_name
    ],
)
def test_every_list_of_features_takes_one_name_and_names_with_commas_between(
    run: Run, parts, model: Path, table: Path, method: str
) -> None:
    for typed, names in (("age", ["age"]), ("age,sex", ["age", "sex"])):
        run("explain", model, table, "--method", method, "--set", f"features={typed}")

        sent = getattr(parts.request.methods[0], method).features
        assert [getattr(entry, "names", [entry]) for entry in sent] == [[name] for name in names]


def test_pairs_of_features_are_lists_of_names(run: Run, parts, model: Path, table: Path) -> None:
    run("explain", model, table, "--method", "firm", "--set", 'pairs=[["age", "bmi"]]')
    assert list(parts.request.methods) == methods(
        {"firm": {"pairs": [{"features": ["age", "bmi"]}]}}
    )


def test_a_loss_of_one_s_own_is_a_setting(run: Run, parts, model: Path, table: Path) -> None:
    loss = "max(0, abs(p - (y == 'a')) / 2)"

    run("explain", model, table, "--method", "average_loss", "--set", f"loss_expression={loss}")

    assert list(parts.request.methods) == methods({"average_loss": {"loss_expression": loss}})


def test_settings_before_the_only_method_are_its_own(
    run: Run, parts, model: Path, table: Path
) -> None:
    run("explain", "--set", "grid_size=10", "--method=partial_dependence", model, table)
    assert list(parts.request.methods) == methods({"partial_dependence": {"grid_size": 10}})


def test_names_of_methods_and_choices_are_read_in_any_case(
    run: Run, parts, model: Path, table: Path
) -> None:
    typed = ("--method", "Permutation_Importance", "--set", "loss=auc")
    run("explain", *typed, "--engine", "black-box", "--target-column", "y", model, table)
    assert list(parts.request.methods) == methods({"permutation_importance": {"loss": "AUC"}})
    assert parts.request.engine == ExplainRequest.BLACK_BOX


@pytest.mark.parametrize(
    ("typed", "fields"),
    [
        ("t0,t1", {"target_columns": ["t0", "t1"]}),
        ('"t0,t1"', {"target_column": "t0,t1"}),
        ("t0", {"target_column": "t0"}),
    ],
)
def test_targets_are_one_or_several(
    run: Run, parts, model: Path, table: Path, tmp_path: Path, typed: str, fields
) -> None:
    """They replace those of a file, of either kind."""
    for given in ('{"targetColumn": "y"}', '{"targetColumns": ["y", "z"]}'):
        file = tmp_path / "request.json"
        file.write_text(given)
        run("explain", model, table, "--request", file, "--target-column", typed)
        read = {f.name: value for f, value in parts.request.ListFields() if "target" in f.name}
        assert read == fields


def test_losses_may_be_called_as_in_scikit_learn(run: Run, parts, model: Path, table: Path) -> None:
    asked = ("explain", model, table, "--method", "average_loss", "--set")

    run(*asked, "loss=Pinball-Loss", "--set", "quantile=.9")
    refused = run(*asked, "loss=rmse")

    expected = {"loss": "PINBALL", "quantile": 0.9}
    assert list(parts.request.methods) == methods({"average_loss": expected})
    assert refused.exit_code == 1
    assert "rmse is the root of SQUARED_ERROR" in refused.stderr


def test_all_rows_are_asked_for_by_name(run: Run, parts, model: Path, table: Path) -> None:
    result = run("explain", model, table, "--method", "interactions", "--row-count", "many")
    assert result.exit_code == 2
    assert "neither a whole number nor" in result.stderr

    run("explain", model, table, "--method", "interactions", "--row-count", "all")
    assert parts.request.row_count == 2**31 - 1


@pytest.mark.parametrize(("typed", "column"), [("age", "age"), ("2020", "2020"), ('"a"', "a")])
def test_a_text_may_look_like_json(
    run: Run, parts, model: Path, table: Path, typed: str, column: str
) -> None:
    run("explain", model, table, "--method", "partial_dependence", "--set", f"group_column={typed}")
    assert list(parts.request.methods) == methods({"partial_dependence": {"group_column": column}})


def test_flags_become_fields_of_their_names(run: Run, parts, model: Path, table: Path) -> None:
    result = run(
        *("explain", model, table, "--method", "interactions"),
        *("--feature-columns", 'age,"b,m,i"', "--feature-columns", "sex"),
        *("--target-column", "y", "--weight-column", "w", "--output-indices", "0,2"),
        *("--cluster-column", "c"),
        *("--scale", "margin", "--engine", "BLACK_BOX", "--row-count", "100", "--seed", "0"),
        *("--class-labels", "-1,<=50K", "--class-labels", '"a,b"'),
        *("--prediction", "max(a, b)", "--prediction", "price = exp(y)"),
        *("--model-name", "houses"),
        "--no-plots",
        "--allow-inconsistent-model",
    )

    assert result.exit_code == 0
    for name in ("model", "table", "methods"):
        parts.request.ClearField(name)
    assert parts.request == ExplainRequest(
        feature_columns=["age", "b,m,i", "sex"],
        target_column="y",
        weight_column="w",
        cluster_column="c",
        output_indices=[0, 2],
        scale="MARGIN",
        engine="BLACK_BOX",
        row_count=100,
        seed=0,
        class_labels=["-1", "<=50K", "a,b"],
        prediction=["max(a, b)", "price = exp(y)"],
        model_name="houses",
        plots=False,
        allow_inconsistent_model=True,
    )


def test_lists_may_be_json(run: Run, parts, model: Path, table: Path) -> None:
    names = json.dumps(["a,b", 'c "d"', "2020"])

    result = run(
        *("explain", model, table, "--feature-columns", names, "--feature-columns", "[e],f"),
        *("--class-labels", '[0, "1,5", 2.5]', "--output-indices", "[0, 2]"),
        *("--input-columns", f"x={names}", "--input-columns", "y=g,h"),
    )

    assert result.exit_code == 0
    assert parts.request.feature_columns == ["a,b", 'c "d"', "2020", "[e]", "f"]
    assert parts.request.class_labels == ["0", "1,5", "2.5"]
    assert parts.request.output_indices == [0, 2]
    assert [(each.input, [*each.columns]) for each in parts.request.input_columns] == [
        ("x", ["a,b", 'c "d"', "2020"]),
        ("y", ["g", "h"]),
    ]


def test_flags_that_are_not_given_leave_the_request_alone(
    run: Run, parts, model: Path, table: Path
) -> None:
    run("explain", model, table, "--method", "interactions")
    given = {"model", "table", "methods", "model_name"}
    assert {field.name for field, _ in parts.request.ListFields()} == given


def test_the_model_is_called_by_its_file(run: Run, parts, model: Path, table: Path) -> None:
    run("explain", model, table, "--method", "interactions")
    assert parts.request.model_name == model.name


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    document = {"rowCount": 100, "seed": 7, "outputIndices": [1], "methods": [{"interactions": {}}]}
    path.write_text(json.dumps(document))
    return path


def test_a_request_file_is_the_canonical_request(
    run: Run, parts, model: Path, table: Path, request_file: Path
) -> None:
    run("explain", model, table, "--request", request_file)

    assert parts.request.row_count == 100
    assert list(parts.request.methods) == methods({"interactions": {}})
    assert parts.request.model.content == model.read_bytes()


def test_flags_win_over_the_request_file(
    run: Run, parts, model: Path, table: Path, request_file: Path
) -> None:
    run("explain", model, table, "--request", request_file, "--seed", "0", "--output-indices", "2")

    assert (parts.request.row_count, parts.request.seed) == (100, 0)
    assert list(parts.request.output_indices) == [2]


def test_methods_come_from_one_place(
    run: Run, model: Path, table: Path, request_file: Path
) -> None:
    both = run("explain", model, table, "--request", request_file, "--method", "interactions")

    assert both.exit_code == 2
    assert "choose one" in both.stderr


def test_without_a_method_an_overview_is_asked_for(
    run: Run, parts, model: Path, table: Path
) -> None:
    run("explain", model, table, "--budget-seconds", "5")

    assert list(parts.request.methods) == []
    assert parts.request.budget_seconds == 5


@pytest.mark.parametrize("name", ["model", "table"])
def test_a_request_file_with_model_or_table_is_refused(
    run: Run, model: Path, table: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "whole.json"
    path.write_text(json.dumps({name: {}, "methods": [{"interactions": {}}]}))

    result = run("explain", model, table, "--request", path)

    assert result.exit_code == 1
    assert f"must not have the {name}" in result.stderr
    assert "(INVALID_REQUEST)" in result.stderr


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows", "-"])
def test_a_single_file_that_begins_like_a_table_is_one(
    run: Run, parts, tmp_path: Path, name: str
) -> None:
    content = b"age,y\n20,\xe9\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    argument = name if name == "-" else path

    run(
        *("explain", argument, "--method", "feature_vectors", "--target-column", "y"),
        stdin=content if name == "-" else b"",
    )

    assert parts.request.table.csv == content
    assert not parts.request.HasField("model")


@pytest.mark.parametrize(("name", "content"), [("a.onnx", b"text"), ("a.bin", b"\x08\x07\x12\x00")])
def test_a_single_file_that_does_not_is_a_model(
    run: Run, parts, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)

    run("explain", tmp_path / name, "--method", "feature_vectors")

    assert parts.request.model.content == content
    assert not parts.request.HasField("table")


@pytest.mark.parametrize(
    ("inputs", "flags", "codes"),
    [
        pytest.param([("age", "float", 1), ("code", "string", 1)], (), ["01", "10"], id="by name"),
        pytest.param(
            [("x", "float", 1), ("y", "string", 1)],
            ("--input-columns", "x=age", "--input-columns", "y=code"),
            ["01", "10"],
            id="by input",
        ),
        pytest.param([("x", "float", 2)], (), [1.0, 10.0], id="numbers"),
    ],
)
def test_rows_of_a_csv_option_have_the_types_of_the_model(
    run: Run,
    parts,
    model: Path,
    table: Path,
    tmp_path: Path,
    inputs: list[tuple[str, str, int]],
    flags: tuple[str, ...],
    codes: list[str] | list[float],
) -> None:
    rows = tmp_path / "given.csv"
    rows.write_text("code,age\n01,02\n10,3\n", encoding="ascii")
    for name, kind, width in inputs:
        parts.answered.model.inputs.add(name=name, type=kind, width=width)

    result = run(
        *("explain", model, table, "--method", "attributions"),
        *("--set", f"explained_rows={rows}", *flags),
    )

    assert result.exit_code == 0, result.stderr
    code, age = parts.request.methods[0].attributions.explained_rows.columns
    assert [*code.strings, *code.numbers] == codes
    assert [*age.numbers] == [2, 3]


def test_rows_of_a_csv_option_are_text_where_the_model_takes_nothing_else(
    run: Run, parts, model: Path, table: Path, tmp_path: Path
) -> None:
    rows = tmp_path / "given.csv"
    rows.write_text("code,unused,age\n01,1,02\n", encoding="ascii")
    parts.answered.model.inputs.add(name="x", type="string", width=2)

    run("explain", model, table, "--method", "attributions", "--set", f"explained_rows={rows}")

    sent = parts.request.methods[0].attributions.explained_rows.columns
    assert [[*each.strings] for each in sent] == [["01"], ["1"], ["02"]]
