"""Tracebacks of refused calls: they end at the user's call, and say the error in one line."""

import asyncio
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnxplain
import pytest
from grpc import RpcError
from IPython.core.ultratb import VerboseTB

IRIS = Path(__file__).parents[2] / "examples/iris"
MODEL, ROWS = IRIS / "lightgbm.onnx", IRIS / "iris.csv"
UNKNOWN = onnxplain.Interactions(features=["petal", "age"])


@pytest.fixture
def local() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


def failure(call: Callable[[], Any]) -> onnxplain.ExplainError:
    with pytest.raises(onnxplain.ExplainError) as caught:
        call()
    return caught.value


def frames(error: BaseException) -> list[str]:
    """Return the functions of a traceback, without those of pytest."""
    found = [f for f in traceback.extract_tb(error.__traceback__) if "_pytest" not in f.filename]
    return [frame.name for frame in found if "pytest" not in Path(frame.filename).parts]


def assert_short(error: onnxplain.ExplainError, *expected: str) -> None:
    text = "".join(traceback.format_exception(error))

    assert frames(error) == ["failure", *expected]
    assert "onnxplain/" not in text.replace(str(Path(__file__).parents[2]), "")
    assert "direct cause" not in text
    assert "During handling" not in text
    assert text.splitlines()[-1].startswith("onnxplain.errors.ExplainError: ")


CALLS: dict[str, Callable[[onnxplain.Client], Any]] = {
    "explain": lambda client: client.explain(MODEL, ROWS, UNKNOWN),
    "stream": lambda client: list(client.explain_stream(MODEL, ROWS, UNKNOWN)),
    "describe": lambda client: client.describe(b"no model"),
}
TO_SERVERS = CALLS | {
    "upload": lambda client: client.upload_model(MODEL),
    "health": lambda client: client.health(),
}


@pytest.mark.parametrize("call", CALLS)
def test_without_a_server_they_end_at_the_call(local: onnxplain.Client, call: str) -> None:
    error = failure(lambda: CALLS[call](local))

    assert_short(error, "<lambda>", "<lambda>")


@pytest.mark.parametrize("call", TO_SERVERS)
def test_with_a_server_they_end_at_the_call(call: str) -> None:
    with onnxplain.connect("127.0.0.1:1", retry_count=0) as client:
        error = failure(lambda: TO_SERVERS[call](client))

    assert_short(error, "<lambda>", "<lambda>")
    assert isinstance(error.__context__, RpcError)


def test_in_coroutines_they_end_at_the_call() -> None:
    async def ask() -> None:
        async with onnxplain.connect_async("127.0.0.1:1", retry_count=0) as client:
            await client.explain(MODEL, ROWS, UNKNOWN)

    error = failure(lambda: asyncio.run(ask()))
    text = "".join(traceback.format_exception(error))

    assert frames(error)[-1] == "ask"
    assert "direct cause" not in text


OWN_MISTAKES: dict[str, Callable[[onnxplain.Client], Any]] = {
    "a method that is none": lambda client: client.explain(MODEL, ROWS, "interaction"),
    "a table that is none": lambda client: client.explain(MODEL, object(), "interactions"),
    "a model that is none": lambda client: client.describe(object()),
    "a file that is not there": lambda client: client.upload_table("absent.csv"),
    "a row that is none": lambda client: client.predict(MODEL, ROWS, rows=["a"]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("mistake", OWN_MISTAKES)
def test_mistakes_in_arguments_end_at_the_call(local: onnxplain.Client, mistake: str) -> None:
    with pytest.raises((TypeError, ValueError, OSError)) as caught:
        OWN_MISTAKES[mistake](local)

    assert frames(caught.value)[1:] == ["<lambda>"]


def test_other_errors_keep_their_frames(local: onnxplain.Client) -> None:
    class Broken:
        def __array__(self) -> None:
            raise ValueError("a mistake of another library")

    with pytest.raises(ValueError, match="another library") as caught:
        local.explain(MODEL, Broken(), "interactions")

    assert len(frames(caught.value)) > 2


def test_a_notebook_shows_the_call_and_the_error() -> None:
    """IPython formats with frames of its own; the last line is the error's."""
    with onnxplain.local() as client:
        error = failure(lambda: client.explain(MODEL, ROWS, UNKNOWN))
    formatter = VerboseTB(theme_name="nocolor")
    text = formatter.text(type(error), error, error.__traceback__)

    assert text.splitlines()[-1] == f"ExplainError: {error}"
    assert "arguments.py" not in text
