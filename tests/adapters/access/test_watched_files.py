"""Hot reload of files: secrets that change while the server runs."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from onnxplain_server.adapters.access.watched_files import FileError, WatchedFiles


class Clock:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def number(contents: Sequence[bytes]) -> int:
    if not contents[0].isdigit():
        raise FileError("it is no number")
    return int(contents[0])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"1")
    return tmp_path / "file"


@pytest.fixture
def read(file: Path) -> Callable[[], int]:
    """Return the value of the file, more than a second later each time."""
    clock = Clock()
    watched = WatchedFiles([file], number, clock)

    def value() -> int:
        clock.now += 1.1
        return watched.value()

    return value


def test_a_change_shows_although_size_and_time_stay_the_same(
    file: Path, read: Callable[[], int]
) -> None:
    before = file.stat()
    assert read() == 1

    file.write_bytes(b"2")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert read() == 2


def test_a_file_is_looked_at_once_a_second_at_most(file: Path) -> None:
    clock = Clock()
    watched = WatchedFiles([file], number, clock)
    file.write_bytes(b"2")

    clock.now = 0.9
    assert watched.value() == 1
    clock.now = 1.1
    assert watched.value() == 2


def test_who_comes_while_another_looks_is_not_kept_waiting(file: Path) -> None:
    clock, looks, may_end = Clock(), threading.Event(), threading.Event()

    def slow(contents: Sequence[bytes]) -> int:
        if contents[0] == b"2":
            looks.set()
            assert may_end.wait(60)
        return number(contents)

    watched = WatchedFiles([file], slow, clock)
    file.write_bytes(b"2")
    clock.now = 1.1
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(watched.value)
        try:
            assert looks.wait(60)
            assert threads.submit(watched.value).result(30) == 1
        finally:
            may_end.set()
        assert first.result() == 2


def test_a_volume_of_kubernetes_that_swaps_its_link_shows(tmp_path: Path) -> None:
    for name, content in (("..first", b"1"), ("..second", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(content)
    (tmp_path / "..data").symlink_to("..first")
    (tmp_path / "file").symlink_to("..data/file")
    clock = Clock()
    watched = WatchedFiles([tmp_path / "file"], number, clock)
    assert watched.value() == 1

    (tmp_path / "..data_tmp").symlink_to("..second")
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")
    clock.now = 2

    assert watched.value() == 2


@pytest.mark.parametrize("content", [b"", b"secret", b"1" * (2**20 + 1), None])
def test_a_bad_change_leaves_the_last_good_and_is_told_once_without_its_content(
    file: Path, read: Callable[[], int], caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    file.unlink() if content is None else file.write_bytes(content)

    with caplog.at_level(logging.ERROR):
        assert [read(), read()] == [1, 1]

    (record,) = caplog.records
    assert "stays in force" in record.getMessage()
    assert "secret" not in record.getMessage()


def test_a_good_change_after_a_bad_one_is_taken(file: Path, read: Callable[[], int]) -> None:
    file.write_bytes(b"none")
    assert read() == 1

    file.write_bytes(b"3")

    assert read() == 3


def test_a_start_without_the_file_fails_and_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="missing: No such file"):
        WatchedFiles([tmp_path / "missing"], number)
