"""AsyncClient: the same responses as Client, by coroutines."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from inspect import signature
from typing import Any, TypeVar

import onnxplain
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, ExplainStreamResponse

ROWS = {"age": [20.0, 30.0]}
METHOD = onnxplain.Interactions()

_Found = TypeVar("_Found")
Run = Callable[[Callable[[onnxplain.AsyncClient], Awaitable[Any]]], Any]


@pytest.fixture
def run(server) -> Run:
    """Run a task with a client in a loop of its own."""

    async def connected(task: Callable[[onnxplain.AsyncClient], Awaitable[_Found]]) -> _Found:
        async with onnxplain.connect_async(server.endpoint, timeout=120) as client:
            return await task(client)

    return lambda task: asyncio.run(connected(task))


def test_both_clients_have_the_same_calls() -> None:
    names = {name for name in dir(onnxplain.Client) if not name.startswith("_")}
    assert names == {name for name in dir(onnxplain.AsyncClient) if not name.startswith("_")}


def test_a_method_goes_by_its_name(run: Run, server, client: onnxplain.Client) -> None:
    client.explain(b"", ROWS, "interactions", onnxplain.Firm())
    run(lambda client: client.explain(b"", ROWS, "interactions", onnxplain.Firm()))

    by_name, by_name_async = server.service.requests
    assert by_name == by_name_async
    assert list(by_name.methods) == [METHOD.to_message(), onnxplain.Firm().to_message()]


def test_both_are_made_from_the_same() -> None:
    assert list(signature(onnxplain.connect).parameters.values()) == list(
        signature(onnxplain.connect_async).parameters.values()
    )


def test_explain_sends_the_request_and_reads_the_answer(
    run: Run, server, answer: ExplainResponse
) -> None:
    found = run(lambda client: client.explain(b"model", ROWS, METHOD, target_column="y", seed=3))

    assert found.message == answer
    (request,) = server.service.requests
    assert (request.model.content, request.target_column, request.seed) == (b"model", "y", 3)


def test_progress_is_told_on_the_way(run: Run, answer: ExplainResponse) -> None:
    told: list[tuple[float, float]] = []
    found = run(lambda client: client.explain(b"", ROWS, progress=lambda *at: told.append(at)))

    assert found.message == answer
    assert told == [(0, 100), (50, 100), (100, 100)]


def test_many_models_are_explained_at_a_time(run: Run, server) -> None:
    async def all_of(client: onnxplain.AsyncClient) -> list[onnxplain.Explanations]:
        return await asyncio.gather(*(client.explain(bytes([i]), ROWS) for i in range(8)))

    assert len(run(all_of)) == 8
    assert sorted(r.model.content for r in server.service.requests) == [
        bytes([i]) for i in range(8)
    ]


def test_a_stream_gives_progress_and_the_explanations_last(
    run: Run, answer: ExplainResponse
) -> None:
    async def collect(client: onnxplain.AsyncClient) -> list[Any]:
        return [event async for event in client.explain_stream(b"", ROWS, METHOD)]

    *progress, last = run(collect)
    assert progress == [onnxplain.Progress(done, 100) for done in (0, 50, 100)]
    assert last.message == answer


def test_leaving_a_stream_early_cancels_the_computation(
    run: Run, server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def endless(request, context):
        context.add_callback(ended.set)
        while context.is_active():
            yield ExplainStreamResponse(progress={"done": 0, "planned": 1})

    async def leave(client: onnxplain.AsyncClient) -> None:
        async with aclosing(client.explain_stream(b"", ROWS, METHOD)) as events:
            async for _ in events:
                break
        assert await asyncio.to_thread(ended.wait, 120)

    monkeypatch.setattr(server.service, "events", endless)
    run(leave)


def test_describe_and_health_are_the_same_too(run: Run) -> None:
    assert run(lambda client: client.describe(b"")).producer == "skl2onnx"
    assert run(lambda client: client.health()) == "SERVING"


def test_a_refusal_is_the_same_error(run: Run, server, refusals) -> None:
    server.service.refuse = refusals.unknown_feature
    calls: list[Callable[[onnxplain.AsyncClient], Awaitable[Any]]] = [
        lambda client: client.explain(b"", ROWS),
        lambda client: client.explain(b"", ROWS, progress=print),
        lambda client: anext(client.explain_stream(b"", ROWS)),
        lambda client: client.describe(b""),
    ]
    for call in calls:
        with pytest.raises(onnxplain.ExplainError) as caught:
            run(call)
        assert caught.value.reason == "UNKNOWN_FEATURE"
        assert caught.value.field == "methods[0].interactions.features"


def test_a_server_that_is_being_replaced_is_asked_again(run: Run, server, refusals) -> None:
    left = [refusals.unavailable] * 2
    server.service.refuse = lambda: left.pop()() if left else None

    assert run(lambda client: client.explain(b"", ROWS))
    assert len(server.service.requests) == 3


def test_cancelling_a_task_ends_its_call(run: Run, server, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def slow(_request, context) -> None:
        context.add_callback(ended.set)
        begun.set()
        ended.wait(120)

    async def cancel(client: onnxplain.AsyncClient) -> None:
        task = asyncio.ensure_future(client.explain(b"", ROWS))
        assert await asyncio.to_thread(begun.wait, 120)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, 60)

    monkeypatch.setattr(server.service, "_take", slow)
    run(cancel)
