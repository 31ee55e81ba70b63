"""Uploads: files sent once, referenced by id, and sent again after eviction."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import onnxplain
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.table_pb2 import Table
from onnxplain.v1.upload_pb2 import UploadTableRequest

ROWS = {"age": [20.0, 30.0]}
CSV = b"age\n20\n30\n"
MODEL = b"the model"
METHOD = onnxplain.Interactions()


def named(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.fixture
def narrow(server) -> Iterator[onnxplain.Client]:
    """A client whose messages are at most 3 MiB."""
    with onnxplain.connect(server.endpoint, timeout=120, message_limit=3 * 2**20) as client:
        yield client


def sources(server) -> list[tuple[str, str]]:
    """Tell for each request whether model and table came in it or by id."""
    return [
        (r.model.WhichOneof("source"), r.table.WhichOneof("source"))
        for r in server.service.requests
    ]


def test_an_uploaded_model_and_table_go_by_their_ids(client: onnxplain.Client, server) -> None:
    model, table = client.upload_model(MODEL), client.upload_table(CSV)
    for _ in range(2):
        client.explain(model, table, METHOD)
    client.describe(model)

    assert (model.id, table.id) == (named(MODEL), named(CSV))
    assert [r.model.id for r in server.service.requests] == [named(MODEL)] * 3
    assert [r.table.id for r in server.service.requests[:2]] == [named(CSV)] * 2
    assert server.service.parts == [1, 1]


@pytest.mark.parametrize(
    ("table", "format_name"), [(CSV, "CSV"), (b"PAR1 and more", "PARQUET"), (ROWS, "ARROW")]
)
def test_a_table_tells_its_format(client: onnxplain.Client, server, table, format_name) -> None:
    found = client.upload_table(table)

    assert server.service.formats == [UploadTableRequest.Format.Value(format_name)]
    assert found.format == format_name.lower()


def test_files_go_in_parts_of_at_most_a_mebibyte(client: onnxplain.Client, server) -> None:
    content = bytes(range(256)) * (2**12 * 2) + b"and one part more"
    model = client.upload_model(content)

    assert server.service.parts == [3]
    assert server.service.files[model.id] == content


def test_an_empty_file_still_tells_its_format(client: onnxplain.Client, server) -> None:
    client.upload_table(b"")
    assert server.service.formats == [UploadTableRequest.Format.Value("CSV")]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda c, m, t: c.explain(m, t, METHOD), id="explain"),
        pytest.param(lambda c, m, t: c.explain(m, t, METHOD, progress=lambda *_: 0), id="progress"),
        pytest.param(lambda c, m, t: list(c.explain_stream(m, t, METHOD)), id="stream"),
    ],
)
def test_what_the_server_has_lost_is_uploaded_again(
    call: Callable[..., Any], client: onnxplain.Client, server
) -> None:
    model, table = client.upload_model(MODEL), client.upload_table(CSV)
    server.service.files.clear()

    assert call(client, model, table)

    assert server.service.files == {model.id: MODEL, table.id: CSV}
    assert sources(server) == [("id", "id")] * 3  # for the model, for the table, answered


@pytest.mark.parametrize(("lost", "table_uploads"), [("model", 1), ("table", 2)])
def test_only_what_is_lost_is_uploaded_again(
    client: onnxplain.Client, server, lost: str, table_uploads: int
) -> None:
    model, table = client.upload_model(MODEL), client.upload_table(CSV)
    del server.service.files[{"model": model.id, "table": table.id}[lost]]

    client.explain(model, table, METHOD)

    assert server.service.parts == [1, 1, 1]
    assert len(server.service.formats) == table_uploads


def test_a_model_is_described_though_the_server_has_lost_it(
    client: onnxplain.Client, server
) -> None:
    model = client.upload_model(MODEL)
    server.service.files.clear()
    assert client.describe(model).producer == "skl2onnx"


def test_what_stays_lost_is_an_error_and_not_uploaded_for_ever(
    client: onnxplain.Client, server, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = client.upload_model(MODEL)
    monkeypatch.setattr(server.service, "files", Forgetful())

    with pytest.raises(onnxplain.ExplainError) as caught:
        client.explain(model, CSV, METHOD)

    assert (caught.value.reason, caught.value.field) == ("BLOB_NOT_FOUND", "model.id")
    assert server.service.parts == [1, 1]


class Forgetful(dict[str, bytes]):
    def __setitem__(self, name: str, content: bytes) -> None:
        """Lose it at once."""


def test_an_id_alone_names_a_model_that_somebody_else_uploaded(
    client: onnxplain.Client, server
) -> None:
    server.service.files[named(MODEL)] = MODEL
    reference = onnxplain.ModelRef(named(MODEL))

    client.explain(reference, CSV, METHOD)
    assert sources(server) == [("id", "csv")]

    server.service.files.clear()
    with pytest.raises(onnxplain.ExplainError, match="no uploaded model"):
        client.explain(reference, CSV, METHOD)


def test_a_table_too_large_for_a_message_is_uploaded_by_itself(
    narrow: onnxplain.Client, server
) -> None:
    large = b"age\n" + b"20\n" * 2**20
    for _ in range(2):
        narrow.explain(MODEL, large, METHOD, target_column="age")

    # Asked first whether the server has it; after the upload it has.
    assert sources(server) == [("content", "id")] * 3
    assert server.service.files == {named(large): large}
    assert server.service.parts == [4]
    assert server.service.requests[-1].target_column == "age"
    assert server.service.requests[-1].model.content == MODEL


def test_the_largest_file_goes_first_and_only_if_needed_the_other(
    narrow: onnxplain.Client, server
) -> None:
    model, table = bytes(4 * 2**20), b"a\n" + b"1\n" * 2**20
    narrow.explain(model, table, METHOD)
    assert sources(server)[-1] == ("id", "csv")

    table = b"a\n" + b"1\n" * 2**21
    narrow.explain(model, table, METHOD)
    assert sources(server)[-1] == ("id", "id")


def test_a_model_too_large_for_a_message_is_described(narrow: onnxplain.Client, server) -> None:
    assert narrow.describe(bytes(4 * 2**20)).producer == "skl2onnx"
    assert server.service.parts == [4]


def test_columns_in_the_message_are_no_file_to_upload(server) -> None:
    table = Table(columns={"columns": [{"name": "a", "numbers": [1.0] * 1000}]})
    with (
        onnxplain.connect(server.endpoint, message_limit=1000) as client,
        pytest.raises(onnxplain.ExplainError) as caught,
    ):
        client.explain(b"", table, METHOD)
    assert caught.value.code == "RESOURCE_EXHAUSTED"


def test_a_message_that_is_sent_as_it_is_is_left_as_it_is(narrow: onnxplain.Client, server) -> None:
    request = ExplainRequest(model={"content": bytes(4 * 2**20)}, table={"csv": CSV}, seed=3)
    narrow.messages.explain(request)

    assert len(request.model.content) == 4 * 2**20
    assert server.service.requests[-1].seed == 3


def test_an_upload_is_tried_again_from_its_beginning(
    client: onnxplain.Client, server, refusals
) -> None:
    left = [refusals.unavailable]
    server.service.refuse = lambda: left.pop()() if left else None
    content = bytes(3 * 2**20)

    assert client.upload_model(content).id == named(content)
    assert server.service.parts == [3]
    assert not left


def test_a_reference_prints_no_bytes() -> None:
    assert repr(onnxplain.ModelRef("sha256:00", b"secret")) == "ModelRef(id='sha256:00')"


def test_all_this_holds_for_asyncio_too(server) -> None:
    large = b"age\n" + b"20\n" * 2**20

    async def task() -> None:
        limit = 3 * 2**20
        async with onnxplain.connect_async(server.endpoint, message_limit=limit) as client:
            model, table = await client.upload_model(MODEL), await client.upload_table(CSV)
            server.service.files.clear()
            await client.explain(model, table, METHOD)
            await client.explain(model, large, METHOD)
            assert [event async for event in client.explain_stream(model, table, METHOD)]
            assert (await client.describe(model)).producer == "skl2onnx"

    asyncio.run(task())
    assert server.service.files == {named(MODEL): MODEL, named(CSV): CSV, named(large): large}
