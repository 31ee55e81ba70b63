"""Tables of rows that workers hand to their parent, which writes them as they come."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain_server.adapters.workers.ipc.frame_limits import TABLE_PART_BYTE_LIMIT
from onnxplain_server.adapters.workers.sandbox import warm_up
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.follower import Follower

ASKED = next(iter(warm_up.requests()))


class Store:
    """Store of one table; it may fail once a part has come."""

    def __init__(self, *, fails: bool = False) -> None:
        self.parts: list[bytes] = []
        self.is_whole = False
        self._fails = fails

    def write(self, parts: Iterable[bytes]) -> None:
        for part in parts:
            self.parts.append(part)
            if self._fails:
                raise ExplainError(Reason.SOURCE_FORBIDDEN, "no room", "result_uri")
        self.is_whole = True

    @property
    def table(self) -> pa.Table:
        return pq.read_table(io.BytesIO(b"".join(self.parts)))


def test_a_workers_table_is_that_of_the_same_code_in_this_process(
    isolated: Any, reference: Any, calls: Any
) -> None:
    ours, theirs = Store(), Store()
    reply = isolated.explain(ASKED, {}, calls(follower=Follower(write_table=ours.write)))
    reference.runner.explain(ASKED, {}, calls(follower=Follower(write_table=theirs.write)))

    assert ours.is_whole
    assert max(map(len, ours.parts)) <= TABLE_PART_BYTE_LIMIT
    assert ours.table.column_names == theirs.table.column_names
    for name in ours.table.column_names:
        assert ours.table[name].to_pylist() == pytest.approx(theirs.table[name].to_pylist())
    result = ExplainResponse.FromString(reply.content).explanations[0].attributions
    assert (result.explained_row_count, len(result.values)) == (1, 0)


def test_a_store_that_fails_on_the_way_is_told_and_the_next_request_answered(
    isolated: Any, calls: Any
) -> None:
    failing, store = Store(fails=True), Store()
    with pytest.raises(ExplainError) as refused:
        isolated.explain(ASKED, {}, calls(follower=Follower(write_table=failing.write)))
    isolated.explain(ASKED, {}, calls(follower=Follower(write_table=store.write)))

    assert (refused.value.reason, refused.value.field) == (Reason.SOURCE_FORBIDDEN, "result_uri")
    assert not failing.is_whole
    assert store.is_whole
