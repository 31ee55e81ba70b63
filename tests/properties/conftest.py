"""One runner in this process for all requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from asked.ask import Ask
from onnxplain_server.adapters.runner.in_process import InProcess


@pytest.fixture(scope="session")
def ask(make) -> Iterator[Ask]:
    runner = InProcess(1, model_count=80)
    yield Ask(runner, make.host)
    runner.close()
