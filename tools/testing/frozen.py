"""pytest plugin: garbage collections look at what tests make, not at all that was collected before.

A collection of the oldest generation reads every object of a process; modules, tests and their
parameters are some hundred thousand, which live until the end.
"""

from __future__ import annotations

import gc

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave all objects that exist before the first test out of later collections."""
    gc.collect()
    gc.freeze()
