"""The second image, mounted once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from image_root import Image, mounted


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    with mounted(os.environ["TEST_IMAGE"]) as found:
        yield found
