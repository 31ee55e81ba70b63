"""A server of models, the operator's list for it, and what asks its models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from onnxplain_server.adapters.remote_server.remote_calls import RemoteCalls

from tools.model_servers.doubling import Models
from tools.stores.faulty_server import serve

MEMORY_BYTES = 2**31


@pytest.fixture
def models() -> Iterator[Models]:
    found = Models()
    with serve(found.answer) as server:
        found.url = server.url
        try:
            yield found
        finally:
            for event in found.held.values():
                event.set()


Listed = Callable[..., Path]


@pytest.fixture
def listed(tmp_path: Path) -> Listed:
    """Writes the operator's list: one prefix with these keys."""

    def write(url: str, **keys: Any) -> Path:
        given = {"prefix": url, **keys}
        lines = [f"{name} = {json.dumps(value)}" for name, value in given.items()]
        path = tmp_path / "remote.toml"
        path.write_text("[[remote_model]]\n" + "\n".join(lines) + "\n")
        return path

    return write


@pytest.fixture
def calls(models: Models, listed: Listed) -> Iterator[Callable[..., RemoteCalls]]:
    """Makes what asks the models, by keys of the list."""
    with ExitStack() as made:

        def make(**keys: Any) -> RemoteCalls:
            asked = RemoteCalls(listed(models.url, **keys), MEMORY_BYTES, is_confined=True)
            return made.enter_context(closing(asked))

        yield make
