"""The operator's list of remote models: what is taken, and what is refused with the key's name."""

from __future__ import annotations

import base64
import ipaddress
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.adapters.access.watched_files import FileError
from onnxplain_server.adapters.network_processes.list_file import ListError
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.adapters.remote_server.entry_policies import EntryPolicies
from onnxplain_server.adapters.remote_server.remote_list import (
    RemoteList,
    authorization,
    read_remote_list,
)

PAGE = Path(__file__).parents[3] / "docs" / "remote-models.md"
HEAD = "[[remote_model]]\nprefix = 'https://h.test/a'\n"


def read(tmp_path: Path, text: str) -> RemoteList:
    path = tmp_path / "remote.toml"
    path.write_text(text)
    return read_remote_list(path)


def test_the_list_of_the_documents_is_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "file").touch()
    text = re.sub(r'(credentials_file|ca_file) = ".*"', rf'\1 = "{tmp_path}/file"', block)

    listed = read(tmp_path, text)

    assert {entry.prefix.scheme for entry in listed.entries} >= {"https", "grpc"}
    _, entry = listed.find("grpc://mlserver.ml.svc:8081")
    assert entry.networks == (ipaddress.ip_network("10.96.0.0/12"),)


def test_limits_are_those_of_the_policy_unless_they_are_given(tmp_path: Path) -> None:
    given_limits = "calls = 9\ncalls_per_second = 2\nrows_per_call = 7\ntimeout_seconds = 1.5\n"
    (usual,) = read(tmp_path, HEAD).entries
    (entry,) = read(tmp_path, HEAD + given_limits).entries
    policy = EntryPolicies(RemoteList()).policy(entry, lambda: None, lambda: None)

    assert (policy.call_count, policy.calls_per_second) == (9, 2.0)
    assert (policy.row_limit, policy.timeout_seconds) == (7, 1.5)
    assert usual.call_count == RemotePolicy().call_count
    assert math.isinf(usual.calls_per_second)


@pytest.mark.parametrize(
    ("uri", "port"),
    [
        ("http://h.test", 80),
        ("https://h.test/a", 443),
        ("https://h.test:8443/a", 8443),
        ("grpc://10.1.2.3:81", 81),
        ("http://[2001:db8::7]", 80),
        ("grpcs://[2001:db8::7]:443", 443),
    ],
)
def test_the_port_of_a_prefix_is_the_one_to_connect_to(tmp_path: Path, uri: Any, port: Any) -> None:
    (entry,) = read(tmp_path, f"[[remote_model]]\nprefix = '{uri}'").entries

    assert entry.port == port


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "[[remote_model]]"),
        ("[[source]]\nprefix = 's3://a/'", "[[remote_model]]"),
        ("[[remote_model]]\ncalls = 1", "prefix"),
        ("[[remote_model]]\nprefix = 's3://a-bucket/'", "http://"),
        ("[[remote_model]]\nprefix = 'https://u:p@h.test'", "prefix"),
        ("[[remote_model]]\nprefix = 'https://h.test/../a'", "prefix"),
        ("[[remote_model]]\nprefix = 'grpc://h.test'", "port"),
        ("[[remote_model]]\nprefix = 'grpc://h.test:1/a'", "path"),
        ("[[remote_model]]\nprefix = 'http://169.254.169.254'", "link-local"),
        ("[[remote_model]]\nprefix = 'http://[fd00:ec2::254]'", "link-local"),
        (HEAD + "networks = ['169.254.0.0/24']", "link-local"),
        (HEAD + "networks = ['0.0.0.0/0']", "link-local"),
        (HEAD + "networks = ['::/0']", "link-local"),
        (HEAD + "networks = ['here']", "networks"),
        (HEAD + "networks = '10.0.0.0/8'", "networks"),
        (HEAD + "calls = 0", "calls"),
        (HEAD + "calls = 1.5", "calls"),
        (HEAD + "calls = true", "calls"),
        (HEAD + "calls_per_second = 0", "calls_per_second"),
        (HEAD + "calls_per_second = nan", "calls_per_second"),
        (HEAD + "rows_per_call = 0", "rows_per_call"),
        (HEAD + "rows_per_call = 1000001", "rows_per_call"),
        (HEAD + "timeout_seconds = 0", "timeout_seconds"),
        (HEAD + "timeout_seconds = nan", "timeout_seconds"),
        (HEAD + "timeout_seconds = 86401", "timeout_seconds"),
        (HEAD + "credentials_file = '/none'", "credentials_file"),
        (HEAD + "ca_file = '/none'", "ca_file"),
        (HEAD + "token = 'a'", "token"),
        (HEAD + HEAD.replace("/a'", "/a/'"), "twice"),
    ],
)
def test_faults_of_a_list_are_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ListError) as refused:
        read(tmp_path, text)

    assert told in str(refused.value)


def test_a_ca_file_is_for_tls(tmp_path: Path) -> None:
    with pytest.raises(ListError, match="ca_file is for https and grpcs"):
        read(tmp_path, f"[[remote_model]]\nprefix = 'http://h.test'\nca_file = '{__file__}'")


@pytest.mark.parametrize(
    ("content", "header"),
    [
        (b"abc.DEF-1_2~+/==\n", "Bearer abc.DEF-1_2~+/=="),
        (b"Bearer abc\n", "Bearer abc"),
        (b"Basic dTpw\n", "Basic dTpw"),
        (b"user:pass word", f"Basic {base64.b64encode(b'user:pass word').decode()}"),
        ("u:pässword".encode(), f"Basic {base64.b64encode('u:pässword'.encode()).decode()}"),
    ],
)
def test_credentials_become_a_header(content: bytes, header: str) -> None:
    assert authorization([content]) == header


@pytest.mark.parametrize(
    "content", [b"", b"two words", b":hidden", b"\xff:hidden", b"a\nb", b"me:pass\nX: y"]
)
def test_other_credentials_are_refused_without_being_shown(content: bytes) -> None:
    with pytest.raises(FileError) as refused:
        authorization([content])

    assert content.decode(errors="replace").strip() not in str(refused.value) or not content


@given(st.binary(max_size=40))
def test_no_credentials_make_a_header_of_several_lines(content: bytes) -> None:
    try:
        header = authorization([content])
    except FileError:
        return
    assert header.isascii()
    assert header.isprintable()


def test_unusable_credentials_end_the_start(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("two words")
    listed = read(tmp_path, HEAD + f"credentials_file = '{tmp_path}/token'")

    with pytest.raises(ListError, match="token, or user:password"):
        EntryPolicies(listed)
