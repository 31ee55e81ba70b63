"""Text that looks like numbers stands as it is in CSV, where the model takes text."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks
from onnxplain_server.core.interfaces import NO_BLOBS, Call
from onnxplain_server.core.request import RequestFile, ServiceMethod
from onnxplain_server.trees.streaming.row_blocks import LargeTable

from tests.adapters.runner.streaming import Host

MODEL = Path(__file__).parents[2] / "conformance" / "files" / "codes.onnx"
PREDICTED = {"007": 1.0, "7": 5.0, "1e3": 10.0, "1000": 20.0, "true": 40.0}
CODES = ["007", "7", "1e3", "1000"] * 3
KINDS = {
    "plain": CODES,
    "quoted": [f'"{code}"' for code in CODES],
    "missing": [*CODES, ""],
    "beyond 2^53": [*CODES, "99999999999999999999"],
    "booleans": ["true"] * 6,
    "times": ["12:30", "7:05"] * 3,
}


def table_of(codes: list[str], mark: str = ",") -> bytes:
    lines = [f"code{mark}z", *(f"{code}{mark}{i % 7}" for i, code in enumerate(codes))]
    return "\n".join(lines).encode()


def asked(kind=service_pb2.ExplainRequest, **table):
    request = kind()
    request.model.content = MODEL.read_bytes()
    for form, content in table.items():
        setattr(request.table, form, content)
    return request


def curve(answer: bytes) -> tuple[list[str], list[float]]:
    response = service_pb2.ExplainResponse.FromString(answer)
    [found] = response.explanations[0].partial_dependence.curves
    return list(found.grid[0].strings), list(found.values)


def explained(runner, request, blobs=NO_BLOBS, large=None):
    request.methods.add().partial_dependence.features.add(names=["code"])
    host = Host()
    return curve(
        runner.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString(), blobs), host, large
        ).content
    )


@pytest.mark.parametrize("mark", [",", ";"])
@pytest.mark.parametrize("codes", KINDS.values(), ids=KINDS)
def test_a_curve_is_that_of_the_same_texts_with_types(runner, codes, mark: str) -> None:
    content = table_of(codes, mark)
    typed = asked()
    rows = list(csv.DictReader(io.StringIO(content.decode()), delimiter=mark))
    typed.table.columns.columns.add(name="code", strings=[row["code"] for row in rows])
    typed.table.columns.columns.add(name="z", numbers=[float(row["z"]) for row in rows])

    found = explained(runner, asked(csv=content))

    assert found == explained(runner, typed)
    assert set(found[0]) == {row["code"] for row in rows} - {""}


def test_an_uploaded_table_is_numbers_to_one_model_and_text_to_another(runner) -> None:
    """Also while it is kept between requests, after the first one's memory is gone."""
    answers = []
    for _ in range(2):
        content = bytearray(table_of(CODES))
        blobs = {"one": RequestFile("csv", content)}
        answers.append(explained(runner, asked(id="one"), blobs))
        content[:] = bytes(len(content))
        described = service_pb2.DescribeTableRequest()
        described.table.id = "one"
        answer = runner.answer(
            Call(ServiceMethod.DESCRIBE_TABLE, described.SerializeToString(), blobs), Host()
        ).content
        columns = service_pb2.DescribeTableResponse.FromString(answer).table.columns
        assert columns[0].maximum == 1_000

    assert answers[0] == answers[1]
    assert answers[0][0] == sorted(set(CODES))


@pytest.mark.parametrize("codes", KINDS.values(), ids=KINDS)
def test_a_table_in_blocks_is_that_in_memory(runner, tmp_path, codes) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(table_of(codes))
    large = LargeTable(FileBlocks([path]), 1 << 30)

    found = explained(runner, asked(), large=large)

    assert found == explained(runner, asked(csv=path.read_bytes()))


def test_groups_by_a_column_of_text_are_its_texts(runner) -> None:
    request = asked(csv=table_of(CODES))
    options = request.methods.add().partial_dependence
    options.features.add(names=["z"])
    options.group_column = "code"

    answer = runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), Host()).content

    result = service_pb2.ExplainResponse.FromString(answer).explanations[0].partial_dependence
    first_values = {curve.group: curve.values[0] for curve in result.curves}
    assert first_values == {code: PREDICTED[code] for code in sorted(set(CODES))}
