"""Tables with every type of cell: the right answer, or an error that names the reason."""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pyarrow as pa
import pytest
from google.protobuf.json_format import ParseDict
from hostile.base import ML, model, node, whole
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from onnx import TensorProto
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

WEIGHT = np.array([[1.0], [2.0], [-4.0]])
REFUSED = {Reason.WRONG_TYPE, Reason.INVALID_TABLE, Reason.EMPTY_TABLE, Reason.MISSING_COLUMN}


def linear(kind: int = TensorProto.DOUBLE) -> bytes:
    """One matrix of three columns, to their weighted sum in double."""
    made = model(
        [node("Cast", "X", "d", to=TensorProto.DOUBLE), node("MatMul", "d w")],
        inputs={"X": (kind, ["n", 3])},
        outputs={"y": TensorProto.DOUBLE},
        constants={"w": WEIGHT},
    )
    return bytes(made.SerializeToString())


def cities() -> bytes:
    """A column of words and a column of numbers, to a sum."""
    encoder: dict[str, Any] = {
        "keys_strings": ["Bern", "Oslo"],
        "values_floats": [10.0, 20.0],
        "default_float": -1.0,
    }
    made = model(
        [node("LabelEncoder", "city", "code", domain=ML, **encoder), node("Add", "code size")],
        inputs={"city": (TensorProto.STRING, ["n", 1]), "size": (TensorProto.FLOAT, ["n", 1])},
    )
    return bytes(made.SerializeToString())


def arrow(columns: dict[str, Any]) -> bytes:
    table = pa.table(columns)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.fixture(scope="session")
def curve(isolated, calls):
    """Ask for the average prediction where one column has the values of a grid."""

    def ask(content: bytes, table: bytes, feature: str, points: list[Any]) -> list[float]:
        kind = "strings" if isinstance(points[0], str) else "numbers"
        wanted = {
            "features": [{"names": [feature]}],
            "grids": [{"columns": [{"name": feature, kind: points}]}],
        }
        request = ExplainRequest(plots=False)
        request.model.content = content
        request.table.arrow = table
        ParseDict({"methods": [{"partialDependence": wanted}]}, request)
        reply = isolated.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), calls()
        ).content
        answer = ExplainResponse.FromString(reply)
        return list(answer.explanations[0].partial_dependence.curves[0].values)

    return ask


def outcome(ask: Callable[[], list[float]]) -> tuple[list[float] | None, Reason | None]:
    """An answer, or why there is none."""
    try:
        return ask(), None
    except ExplainError as refused:
        return None, refused.reason


KINDS: dict[int, type[np.generic]] = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.INT64: np.int64,
    TensorProto.INT8: np.int8,
    TensorProto.BOOL: np.bool_,
}
ROWS = arrays.arrays(
    st.one_of(
        arrays.floating_dtypes(sizes=(32, 64), endianness="="),
        arrays.integer_dtypes(endianness="="),
        arrays.unsigned_integer_dtypes(endianness="="),
        arrays.boolean_dtypes(),
    ),
    arrays.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5),
)


@given(ROWS, st.sampled_from(sorted(KINDS)))
def test_any_array_gives_what_numpy_gives_or_a_reason(
    curve, rows: np.ndarray[Any, Any], kind: int
) -> None:
    """Also with a wrong number of columns, without rows, and with numbers that do not fit."""
    table = arrow({f"x{j}": rows[:, j] for j in range(rows.shape[1])})
    actual, reason = outcome(lambda: curve(linear(kind), table, "x0", [0.0, 1.0]))
    if actual is None:
        assert reason in REFUSED | {Reason.INVALID_OPTION, Reason.NON_FINITE_PREDICTION}
        return

    taken = rows.astype(np.float64).astype(KINDS[kind]).astype(np.float64)
    rest = taken[:, 1:] @ WEIGHT[1:, 0]
    expected = [rest.mean(), rest.mean() + WEIGHT[0, 0]]
    assert np.allclose(actual, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(taken).max()))


CELLS: dict[str, tuple[Any, list[str] | None]] = {
    # name: cells, and the words that they are taken for; None where they are refused
    "words": (["Oslo", "Rome", "Bern"], ["Oslo", "Rome", "Bern"]),
    "words with a gap": (["Oslo", None, "Bern"], ["Oslo", "", "Bern"]),
    "a dictionary": (
        pa.array(["Oslo", "Rome", "Oslo"]).dictionary_encode(),
        ["Oslo", "Rome", "Oslo"],
    ),
    "large words": (pa.array(["Oslo", "", "Bern"], pa.large_string()), ["Oslo", "", "Bern"]),
    "dates": ([datetime.date(2020, 1, day) for day in (1, 2, 3)], ["2020-01-01"] * 3),
    "nothing": ([None, None, None], None),
    "bytes": ([b"Oslo", b"\xff\xfe", b""], None),
    "bytes of one length": (pa.array([b"ab", b"cd", b"ef"], pa.binary(2)), None),
    "numbers": ([1.0, 2.0, 3.0], None),
    "decimals": ([decimal.Decimal("1.5"), decimal.Decimal(2), None], None),
    "truths": ([True, False, None], None),
    "lists": ([["Oslo"], [], None], None),
    "structures": ([{"city": "Oslo"}, None, {}], None),
    "spans": ([datetime.timedelta(1), None, datetime.timedelta(2)], None),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_that_are_no_words_are_refused_where_a_model_takes_words(curve, name: str) -> None:
    """A runtime would turn each into some word, and answer for that."""
    cells, words = CELLS[name]
    table = arrow({"city": cells, "size": [1.0, 2.0, 3.0]})
    if words is None:
        with pytest.raises(ExplainError) as refused:
            curve(cities(), table, "size", [0.0, 10.0])
        assert refused.value.reason in REFUSED
        return

    codes = {"Bern": 10.0, "Oslo": 20.0}
    mean = np.mean([codes.get(word, -1.0) for word in words])
    assert np.allclose(curve(cities(), table, "size", [0.0, 10.0]), [mean, mean + 10.0])


@pytest.mark.parametrize("name", CELLS)
def test_cells_that_are_no_numbers_are_refused_where_a_model_takes_numbers(
    curve, name: str
) -> None:
    cells, _ = CELLS[name]
    table = arrow({"a": [1.0, 2.0, 3.0], "b": [0.0, 0.0, 0.0], "c": cells})

    actual, reason = outcome(lambda: curve(linear(), table, "a", [0.0, 1.0]))

    if name == "numbers":
        assert actual is not None
        assert np.allclose(actual, [-8.0, -7.0])
    else:
        gaps = {"decimals", "spans", "truths"}  # numbers, but for one that is missing
        assert reason in ({Reason.NON_FINITE_PREDICTION} if name in gaps else REFUSED)


def pinned(rows: int, *, declared: bool) -> bytes:
    """Some rows per call, pinned by a Reshape inside."""
    made = model(
        [node("MatMul", "X w", "column"), node("Reshape", "column s")],
        inputs={"X": (TensorProto.FLOAT, [rows if declared else "n", 3])},
        constants={"w": WEIGHT.astype(np.float32), "s": whole(rows, 1)},
    )
    return bytes(made.SerializeToString())


@pytest.mark.parametrize("content", [pinned(1, declared=True), pinned(1, declared=False)])
def test_a_model_of_one_row_answers_like_a_loop_over_the_rows(curve, content: bytes) -> None:
    values = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    session = onnxruntime.InferenceSession(content)

    def loop(first: float) -> float:
        rows = values.copy()
        rows[:, 0] = first
        return float(np.mean([session.run(None, {"X": row[None]})[0][0, 0] for row in rows]))

    actual = curve(content, arrow({f"x{j}": values[:, j] for j in range(3)}), "x0", [-1.0, 2.0])

    assert np.allclose(actual, [loop(-1.0), loop(2.0)], rtol=1e-6)


@pytest.mark.parametrize("type_", [">f4", ">f8", ">i4"])
def test_numbers_in_another_byte_order_are_what_they_were(type_: str) -> None:
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], type_)
    kinds = {">f4": TensorProto.FLOAT, ">f8": TensorProto.DOUBLE, ">i4": TensorProto.INT32}

    answer = load(linear(kinds[type_])).predict({"X": values})

    assert np.array_equal(answer, values.astype(float) @ WEIGHT)
