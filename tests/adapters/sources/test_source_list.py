"""The operator's list of prefixes: what is taken, and what is refused with the key's name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from onnxplain_server.adapters.network_processes.list_file import ListError
from onnxplain_server.adapters.sources.canonical_uri import canonical
from onnxplain_server.adapters.sources.source_list import read_source_list
from onnxplain_server.core.errors import ExplainError

PAGE = Path(__file__).parents[3] / "docs" / "sources.md"


def read(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "sources.toml"
    path.write_text(text)
    return read_source_list(path)


def test_the_list_of_the_documents_is_read(tmp_path: Any) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "file").touch()
    text = re.sub(r'(credentials_file|ca_file) = ".*"', rf'\1 = "{tmp_path}/file"', block)

    listed = read(tmp_path, text)

    assert listed.find(canonical("s3://models/churn/a.onnx")).identity == "platform"
    assert listed.find(canonical("s3://lake/rows/a/")).address == (
        True,
        "minio.storage.svc",
        9000,
    )
    assert listed.find(canonical("models:/churn@champion")).credentials_file
    assert listed.find(canonical("s3://results/onnxplain/a"), for_writing=True)


def test_the_longest_prefix_holds(tmp_path: Any) -> None:
    listed = read(
        tmp_path,
        '[[source]]\nprefix = "s3://bucket/"\nmax_bytes = 1\n'
        '[[source]]\nprefix = "s3://bucket/inner/"\nmax_bytes = 2\n',
    )

    assert listed.find(canonical("s3://bucket/inner/a")).byte_limit == 2
    assert listed.find(canonical("s3://bucket/other/a")).byte_limit == 1


def test_results_go_below_a_prefix_that_is_listed_for_writing(tmp_path: Any) -> None:
    listed = read(
        tmp_path,
        '[[source]]\nprefix = "s3://bucket/"\n'
        '[[source]]\nprefix = "s3://bucket/results/"\nwrite = true\n',
    )

    assert listed.find(canonical("s3://bucket/results/a"), for_writing=True)
    with pytest.raises(ExplainError, match="is listed for reading only"):
        listed.find(canonical("s3://bucket/a"), for_writing=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "[[source]]"),
        ("source = 1", "[[source]]"),
        ("[[source]", "TOML"),
        ("[[source]]\nprefix = 's3://a-bucket/'\n[[other]]\n", "[[source]]"),
        ("[[source]]\nregion = 'eu'", "prefix"),
        ("[[source]]\nprefix = 's3://a-bucket/../b/'", "prefix"),
        ("[[source]]\nprefix = 'http://host/a/'", "prefix"),
        ("[[source]]\nprefix = 'file:///etc/'", "prefix"),
        ("[[source]]\nprefix = 'https://user:pw@host.test/'", "prefix"),
        ("[[source]]\nprefix = 's3://a-bucket/'\nprefixes = 1", "prefixes"),
        ("[[source]]\nprefix = 's3://a-bucket/'\nwrite = 'yes'", "write"),
        ("[[source]]\nprefix = 'https://host.test/'\nwrite = true", "write"),
        ("[[source]]\nprefix = 's3://a-bucket/'\nidentity = 'me'", "identity"),
        ("[[source]]\nprefix = 'https://host.test/'\nidentity = 'platform'", "identity"),
        ("[[source]]\nprefix = 's3://a-bucket/'\ncredentials_file = '/none'", "credentials_file"),
        ("[[source]]\nprefix = 's3://a-bucket/'\nca_file = '/none'", "ca_file"),
        ("[[source]]\nprefix = 's3://a-bucket/'\nnetworks = ['here']", "networks"),
        ("[[source]]\nprefix = 's3://a-bucket/'\nmax_bytes = 0", "max_bytes"),
        ("[[source]]\nprefix = 's3://a-bucket/'\nendpoint = 'ftp://host'", "endpoint"),
        ("[[source]]\nprefix = 's3://a-bucket/'\nendpoint = 'https://u:p@host'", "endpoint"),
        ("[[source]]\nprefix = 'https://host.test/'\nendpoint = 'https://host'", "endpoint"),
        ("[[source]]\nprefix = 'gs://a-bucket/'\nregion = 'eu'", "region"),
        ("[[source]]\nprefix = 'models:/'", "endpoint"),
        ("[[source]]\nprefix = 's3://a-bucket'\n[[source]]\nprefix = 's3://a-bucket'", "twice"),
    ],
)
def test_faults_of_a_list_are_told(tmp_path: Any, text: Any, told: Any) -> None:
    with pytest.raises(ListError) as refused:
        read(tmp_path, text)

    assert told in str(refused.value)
