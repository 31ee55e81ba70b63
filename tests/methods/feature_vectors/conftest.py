"""Fixtures for tests of surrogate forests."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


@pytest.fixture
def run() -> Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]:
    """Run parts one after the other."""
    return lambda function, parts: [function(part) for part in parts]
