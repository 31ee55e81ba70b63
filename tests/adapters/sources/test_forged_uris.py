"""Forged addresses: none leaves the prefixes that an operator lists."""

from __future__ import annotations

from typing import Any

import pytest
from onnxplain_server.adapters.sources.canonical_uri import canonical, canonical_prefix
from onnxplain_server.adapters.sources.source_list import SourceEntry, SourceList
from onnxplain_server.core.errors import ExplainError, Reason

PREFIXES = (
    "s3://models/churn/",
    "gs://lake/rows",
    "https://files.example.com/models/",
    "https://files.example.com:8443/models/",
    "models:/churn",
)
LISTED = SourceList(tuple(SourceEntry(canonical_prefix(prefix), "") for prefix in PREFIXES))

READABLE = (
    "s3://models/churn/model.onnx",
    "s3://models/churn/2026/model.onnx",
    "s3://models/churn/year=2026/",
    "gs://lake/rows",
    "gs://lake/rows/part-0.parquet",
    "https://files.example.com/models/a.onnx",
    "https://files.example.com:443/models/a.onnx",
    "HTTPS://FILES.EXAMPLE.COM/models/a.onnx",
    "https://files.example.com/models/a%20b.onnx",
    "https://files.example.com/models/a%2Bb.onnx",
    "https://files.example.com:8443/models/a.onnx",
    "models:/churn/3",
    "models:/churn@champion",
)

FORGED = (
    # Neighbours of a prefix, and names that begin like it.
    "s3://models/churn2/model.onnx",
    "s3://models/churn-old/model.onnx",
    "s3://models/churn",
    "s3://models/",
    "s3://models2/churn/model.onnx",
    "s3://churn/model.onnx",
    "gs://lake/rows2/part-0.parquet",
    "gs://models/churn/model.onnx",
    "https://files.example.com/models",
    "https://files.example.com/private/a.onnx",
    "https://files.example.com/Models/a.onnx",
    "https://files.example.com.evil.test/models/a.onnx",
    "https://evil.test/files.example.com/models/a.onnx",
    "https://xfiles.example.com/models/a.onnx",
    "https://files.example.com./models/a.onnx",
    "https://files.example.com:444/models/a.onnx",
    "https://files.example.com:08443/models/a.onnx",
    "https://files.example.com:65536/models/a.onnx",
    "https://files.example.com:/models/a.onnx",
    "models:/churn2/3",
    "models:/other@champion",
    # Dots, plain, encoded and encoded twice.
    "s3://models/churn/../secret/model.onnx",
    "s3://models/churn/./model.onnx",
    "s3://models/churn//model.onnx",
    "s3://models/churn/..",
    "s3://models/churn/%2e%2e/secret/model.onnx",
    "s3://models/churn/%2E%2e/secret",
    "https://files.example.com/models/../private/a",
    "https://files.example.com/models/%2e%2e/private/a",
    "https://files.example.com/models/.%2e/private/a",
    "https://files.example.com/models/%252e%252e/private/a",
    "https://files.example.com/models/..%2fprivate/a",
    "https://files.example.com/models/%2f../private/a",
    "https://files.example.com/models/..%5cprivate/a",
    "https://files.example.com/models/..\\private\\a",
    "https://files.example.com/models/..;/private/a",
    "https://files.example.com/models/a%3b/../private",
    "https://files.example.com/models/%c0%ae%c0%ae/private",
    "https://files.example.com/models/%zz/a",
    "https://files.example.com/models/a%",
    "https://files.example.com//models/a.onnx",
    # Characters that parsers read differently.
    "https://files.example.com/models/a\r\nHost: evil.test",
    "https://files.example.com/models/a%0d%0aX: y",
    "https://files.example.com/models/a%00.onnx",
    "https://files.example.com\t/models/a.onnx",
    "https://files.example.com\\@evil.test/models/a.onnx",
    "https:\\\\files.example.com\\models\\a.onnx",
    "https:/files.example.com/models/a.onnx",
    "https:files.example.com/models/a.onnx",
    "https:///files.example.com/models/a.onnx",
    "//files.example.com/models/a.onnx",
    " https://files.example.com/models/a.onnx",
    "https://files。example.com/models/a.onnx",
    "https://ﬁles.example.com/models/a.onnx",
    "https://xn--fles-75a.example.com/models/a.onnx",
    # User-info, queries, fragments.
    "https://files.example.com@evil.test/models/a.onnx",
    "https://user:secret@files.example.com/models/a.onnx",
    "https://files.example.com:8443@evil.test/models/a.onnx",
    "s3://key:secret@models/churn/model.onnx",
    "s3://models@evil/churn/model.onnx",
    "https://files.example.com/models/a.onnx?x=/../private",
    "https://files.example.com/models/a.onnx#/../private",
    "https://evil.test#files.example.com/models/a.onnx",
    "https://evil.test?files.example.com/models/a.onnx",
    "s3://models/churn/model.onnx?versionId=1",
    # Addresses of the inside, in all their forms.
    "https://169.254.169.254/latest/meta-data/",
    "https://169.254.170.2/v2/credentials",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://127.0.0.1/models/a.onnx",
    "https://127.1/models/a.onnx",
    "https://2130706433/models/a.onnx",
    "https://0x7f000001/models/a.onnx",
    "https://0x7f.0.0.1/models/a.onnx",
    "https://0177.0.0.1/models/a.onnx",
    "https://017700000001/models/a.onnx",
    "https://127.0.0.1.nip.io/models/a.onnx",
    "https://[::1]/models/a.onnx",
    "https://[::ffff:169.254.169.254]/latest",
    "https://[::ffff:a9fe:a9fe]/latest",
    "https://[64:ff9b::a9fe:a9fe]/latest",
    "https://[2002:a9fe:a9fe::]/latest",
    "https://[fe80::1%25eth0]/models/a.onnx",
    "https://[fd00:ec2::254]/latest",
    "https://::1/models/a.onnx",
    "https://localhost/models/a.onnx",
    # Other schemes.
    "http://files.example.com/models/a.onnx",
    "file:///etc/passwd",
    "file://files.example.com/models/a.onnx",
    "ftp://files.example.com/models/a.onnx",
    "gopher://files.example.com/models/a.onnx",
    "data:application/octet-stream;base64,AAAA",
    "jar:https://files.example.com/models/a.onnx!/",
    "s3a://models/churn/model.onnx",
    "s3:models/churn/model.onnx",
    "s3:///models/churn/model.onnx",
    "S3://Models/churn/model.onnx",
    "s3://models:9000/churn/model.onnx",
    "s3://models..churn/model.onnx",
    "models:/churn/3/../../other/1",
    "models:/churn/latest/x",
    "models:/churn@champion/../x",
    "models:/m-0123456789abcdef",
    "models://evil.test/churn/3",
    "mlflow-artifacts:/0/abc/artifacts/model",
    "runs:/abc/model",
    "/etc/passwd",
    "",
    "https://files.example.com/models/" + "a" * 3_000,
)


@pytest.mark.parametrize("uri", READABLE)
def test_addresses_below_a_prefix_may_be_read(uri: Any) -> None:
    found = canonical(uri)

    assert found.is_below(LISTED.find(found).prefix)


@pytest.mark.parametrize("uri", FORGED)
def test_forged_addresses_are_refused(uri: Any) -> None:
    with pytest.raises(ExplainError) as refused:
        LISTED.find(canonical(uri))

    assert refused.value.reason in {Reason.INVALID_REQUEST, Reason.SOURCE_NOT_LISTED}
    assert "secret@" not in refused.value.message


def test_there_are_many_forged_addresses() -> None:
    assert len(set(FORGED)) == len(FORGED) >= 60
