"""pytest plugin: garbage collections look at what tests make, not at all that was collected before.

A collection of the oldest generation reads every object of a process; modules, tests and their
parameters are some hundred thousand, which live until the end.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without garbage collections, and leave their objects out of later ones."""
    gc.disable()
    try:
        result = yield
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()
    return result
