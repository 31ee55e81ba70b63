"""Parts of answers that operations keep: packed with their index, and joined in one body."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import PartialExplanation
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.wire import rest_body
from onnxplain_server.wire.kept_parts import join_parts, pack_part, separate_parts, split_part


@given(st.lists(st.binary(max_size=40)))
def test_joined_parts_are_separated_again(parts: list[bytes]) -> None:
    assert list(separate_parts(b"".join(join_parts(parts)))) == parts


@given(st.lists(st.binary(max_size=9), min_size=1), st.data())
def test_a_body_that_is_cut_is_refused(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(join_parts(parts))
    ends = {len(b"".join(join_parts(parts[:count]))) for count in range(len(parts) + 1)}
    cut = data.draw(st.integers(0, len(whole)).filter(lambda each: each not in ends))

    with pytest.raises(ValueError, match="cut"):
        list(separate_parts(whole[:cut]))


@given(st.integers(0, 2**31 - 1), st.booleans())
def test_a_part_has_its_index_outside(index: int, is_final: bool) -> None:
    part = PartialExplanation(index=index, is_final=is_final)

    assert split_part(pack_part(part)) == (index, part.SerializeToString())


@given(st.binary(max_size=3))
def test_fewer_bytes_are_no_part(content: bytes) -> None:
    assert split_part(content) is None


def test_parts_become_one_document() -> None:
    parts = [PartialExplanation(index=index, is_final=True) for index in range(2)]
    body = b"".join(join_parts(part.SerializeToString() for part in parts))
    decoded = rest_body.decode(ServiceMethod.PARTS, "", body)
    none = rest_body.decode(ServiceMethod.PARTS, "", b"")

    assert [part["index"] for part in json.loads(decoded.envelope)["partials"]] == [0, 1]
    assert json.loads(none.envelope) == {"partials": []}


@pytest.mark.parametrize("body", [b"\x01", b"\x02\0\0\0\x08", b"\x01\0\0\0\xff"])
def test_a_damaged_document_is_an_internal_error(body: bytes) -> None:
    with pytest.raises(ExplainError) as caught:
        rest_body.decode(ServiceMethod.PARTS, "", body)
    assert caught.value.reason is Reason.INTERNAL
