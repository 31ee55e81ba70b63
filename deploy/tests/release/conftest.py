"""Fixtures: the folder of a release, and a server that runs from its image.

`make test-release` makes the release and runs these tests, as root. TEST_RELEASE is its folder,
TEST_RELEASE_KEYS what signed it, BUILDAH the command.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from image_root import Server, buildah, mounted, running


@pytest.fixture(scope="session")
def release() -> Path:
    """The folder of the release."""
    return Path(os.environ["TEST_RELEASE"]).resolve()


@pytest.fixture(scope="session")
def version(release: Path) -> str:
    """The version of the release, by its chart."""
    (chart,) = release.glob("chart/onnxplain-*.tgz")
    return chart.stem.removeprefix("onnxplain-")


@pytest.fixture(scope="session")
def served(release: Path) -> Iterator[Server]:
    """A server that runs from the image's archive."""
    (archive,) = release.glob("image/*.tar")
    name = buildah("pull", "--quiet", f"oci-archive:{archive}")
    with mounted(name) as image, running(image) as found:
        yield found
