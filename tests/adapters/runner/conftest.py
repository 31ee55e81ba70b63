"""Runner of two threads, shared by the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from onnxplain_server.adapters.runner.in_process import InProcess


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(2)
    yield made
    made.close()
