"""The file of the audit log: whole lines, rotation, and faults of the disk."""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path

import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain_server.config.setting_names import SettingsError
from onnxplain_server.transport.audit.audit_file import AuditFile
from onnxplain_server.transport.audit.ended_explanation import EndedExplanation
from onnxplain_server.transport.audit.usage import Usage

FULL = Path("/dev/full")


def ended(caller: str = "ada") -> EndedExplanation:
    return EndedExplanation(Usage(), caller, "grpc", "OK", 1.0)


def callers(path: Path) -> list[str]:
    return [json.loads(line)["caller"] for line in path.read_text().splitlines()]


def test_what_a_file_has_stays_and_others_cannot_read_it(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    for caller in ("ada", "bob"):
        file = AuditFile(str(path))
        file(ended(caller))
        file.close()

    assert callers(path) == ["ada", "bob"]
    assert path.stat().st_mode & 0o007 == 0


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_rotated_file_is_left_and_the_new_one_goes_on(tmp_path: Path, is_deleted: bool) -> None:
    path, old = tmp_path / "audit", tmp_path / "audit.1"
    file = AuditFile(str(path))
    file(ended("ada"))
    path.unlink() if is_deleted else path.rename(old)
    file(ended("bob"))
    file(ended("eve"))
    file.close()

    assert callers(path) == ["bob", "eve"]
    assert is_deleted or callers(old) == ["ada"]


def test_servers_that_share_a_file_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    files = [AuditFile(str(path)) for _ in range(4)]
    names = [f"{number:04}" * 50 for number in range(4)]

    def write(file: AuditFile, name: str) -> None:
        for _ in range(200):
            file(ended(name))

    threads = [threading.Thread(target=write, args=pair) for pair in zip(files, names, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for file in files:
        file.close()

    assert sorted(callers(path)) == sorted(names * 200)


def test_a_full_disk_costs_lines_which_are_counted_and_the_first_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, lost = tmp_path / "audit", []
    path.symlink_to(FULL)
    file = AuditFile(str(path), lambda: lost.append(1))
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            file(ended())
        path.unlink()
        file(ended("bob"))
        path.unlink()
        path.symlink_to(FULL)
        file(ended())
    file.close()

    assert len(lost) == 4
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert "No space left" in caplog.messages[0]


def test_a_folder_that_is_gone_costs_lines_until_it_is_back(tmp_path: Path) -> None:
    folder, lost = tmp_path / "logs", []
    folder.mkdir()
    file = AuditFile(str(folder / "audit"), lambda: lost.append(1))
    (folder / "audit").unlink()
    folder.rmdir()
    for _ in range(2):
        file(ended("ada"))
    folder.mkdir()
    file(ended("bob"))
    file.close()

    assert len(lost) == 2
    assert callers(folder / "audit") == ["bob"]


def test_after_part_of_a_line_the_next_one_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lost = tmp_path / "audit", []
    file = AuditFile(str(path), lambda: lost.append(1))
    write = os.write
    monkeypatch.setattr("os.write", lambda to, content: write(to, content[:20]))
    file(ended("ada"))
    monkeypatch.undo()
    file(ended("bob"))
    file(ended("eve"))
    file.close()
    first, *others = path.read_text().splitlines()

    assert len(lost) == 1
    assert len(first) == 20
    assert [json.loads(line)["caller"] for line in others] == ["bob", "eve"]


def test_a_file_that_cannot_be_opened_stops_the_start(start, make_runner, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "audit"

    with pytest.raises(SettingsError, match=r"ONNXPLAIN_AUDIT_LOG .*No such file or directory"):
        start(make_runner(), audit_log=str(path))


def test_a_line_that_is_lost_costs_no_answer_and_is_on_the_page(start, make_runner) -> None:
    client = start(make_runner(), audit_log=str(FULL))

    assert client.stub.Explain(ExplainRequest(seed=7)).receipt.seed == 7
    assert "onnxplain_audit_errors_total 1.0" in client.metrics().body.decode()


def test_callers_forge_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    file = AuditFile(str(path))
    file(ended('eve"}\n{"caller": "ada\u2028"'))
    file.close()

    assert callers(path) == ['eve"}\n{"caller": "ada\u2028"']
