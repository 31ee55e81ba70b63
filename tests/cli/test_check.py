"""Command `check`: its exit code, and files of predictions beside tables of all formats."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnx import TensorProto, helper
from onnxplain.v1.explanation_service_pb2 import CheckModelRequest
from onnxplain_server import cli
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.cli import ServiceParts
from typer.testing import CliRunner, Result

ROWS = [("01", 0.5, 2), ("a;b", -1.25, 3), ('say "so"', 4, 5)]


def run(*words: object) -> Result:
    parts = ServiceParts(
        runner=lambda _workers: InProcess(1),
        cache=lambda: MemoryCache(2**20, Signer(b"key")),
        serve=lambda _flags, _began: None,
    )
    return CliRunner().invoke(cli.app, ["check", *map(str, words)], obj=parts)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The model x + y, with a text that it takes and does not use."""
    kinds = {"text": TensorProto.STRING, "x": TensorProto.FLOAT, "y": TensorProto.FLOAT}
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "y"], ["sum"])],
        "total",
        [helper.make_tensor_value_info(name, kind, ["n", 1]) for name, kind in kinds.items()],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["n", 1])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def comma(path: Path) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "x", "y"), *ROWS])
    return path


def semicolon(path: Path) -> Path:
    """With decimal commas."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(("text", "x", "y"))
        writer.writerows((text, str(x).replace(".", ","), y) for text, x, y in ROWS)
    return path


def parquet(path: Path) -> Path:
    columns = dict(zip(("text", "x", "y"), zip(*ROWS, strict=True), strict=True))
    pq.write_table(pa.table({name: list(column) for name, column in columns.items()}), path)
    return path


def expected(path: Path, *values: float, name: str = "p", rows: bool = True) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", name] if rows else [name])
        writer.writerows([k, value] if rows else [value] for k, value in enumerate(values))
    return path


@pytest.mark.parametrize("form", [comma, semicolon, parquet])
def test_a_file_of_predictions_is_compared_row_by_row(
    tmp_path: Path, model: Path, form: Callable[[Path], Path]
) -> None:
    table = form(tmp_path / "table")
    right = run(model, table, "--against", expected(tmp_path / "p.csv", 2.5, 1.75, 9))
    wrong = run(model, table, "--against", expected(tmp_path / "p.csv", 2.5, 1.75, 9.25))

    assert (right.exit_code, json.loads(right.output)["comparison"]["agrees"]) == (0, True)
    assert wrong.exit_code == 1
    compared = json.loads(wrong.output)["comparison"]
    assert [row["rowIndex"] for row in compared["differingRows"]] == [2]
    assert compared["outputs"][0]["largestDifference"] == 0.25


def test_other_cells_of_csv_stay_as_they_stand(tmp_path: Path, model: Path) -> None:
    from onnxplain_server.cli.requests.against import beside  # noqa: PLC0415 - beside its test
    from onnxplain_server.cli.requests.request import table_message  # noqa: PLC0415

    rows = table_message(str(comma(tmp_path / "rows.csv")))
    given = table_message(str(expected(tmp_path / "p.csv", 1, 2, 3, name="y")))
    together, names = beside(rows, given, ())

    assert names == ["expected y"]
    read = list(csv.reader(together.csv.decode().splitlines()))
    assert [row[0] for row in read] == ["text", *(text for text, _, _ in ROWS)]
    assert [row[3] for row in read] == ["expected y", "1.0", "2.0", "3.0"]


def test_columns_of_the_table_may_hold_what_is_expected(tmp_path: Path, model: Path) -> None:
    table = comma(tmp_path / "rows.csv")
    done = run(model, table, "--expected-prediction-columns", "y", "--output", "table")

    assert done.exit_code == 1
    assert "2 of 3 rows differ by more than rounding." not in done.output
    assert "3 of 3 rows differ by more than rounding." in done.output


@pytest.mark.parametrize(
    ("values", "words", "told"),
    [
        ((1, 2), (), "has 2 rows, and TABLE has 3"),
        ((1, 2, 3), ("--expected-prediction-columns", "q"), "no column 'q'"),
    ],
)
def test_predictions_that_fit_no_row_are_refused(
    tmp_path: Path, model: Path, values: tuple[float, ...], words: tuple[str, ...], told: str
) -> None:
    given = expected(tmp_path / "p.csv", *values)
    done = run(model, comma(tmp_path / "rows.csv"), "--against", given, *words)

    assert done.exit_code in {1, 2}
    assert told in " ".join(done.output.replace("│", " ").split())


def test_rows_in_another_order_are_refused(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("row,p\n2,9\n0,2.5\n1,1.75\n")
    done = run(model, comma(tmp_path / "rows.csv"), "--against", path)

    assert done.exit_code == 2
    assert "does not count 0, 1, 2" in done.output


def test_nothing_to_compare_with_is_a_usage_error(tmp_path: Path, model: Path) -> None:
    done = run(model, comma(tmp_path / "rows.csv"))

    assert done.exit_code == 2
    assert "--against" in done.output


def test_every_option_of_a_check_has_a_flag() -> None:
    flags = {p.name for p in cli.commands.command("check").params}
    fields = {field.name for field in CheckModelRequest.DESCRIPTOR.fields}

    assert fields - flags == {"output_indices"}, "a command chooses outputs by name"
