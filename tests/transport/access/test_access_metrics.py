"""Metrics of access control: unusable files and the certificate's expiry show on the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509
from prometheus_client.parser import text_string_to_metric_families

EXPIRY = "onnxplain_certificate_expiry_timestamp_seconds"
RELOAD = "onnxplain_last_reload_successful"


@pytest.fixture(autouse=True)
def _look_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxplain_server.adapters.access.watched_files.LOOK_SECONDS", 0.0)


def samples(client) -> dict[tuple[str, str], float]:
    return {
        (sample.name, " ".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(client.metrics().body.decode())
        for sample in family.samples
        if sample.name in {EXPIRY, RELOAD}
    }


def test_a_server_without_files_has_no_series_of_them(start, make_runner) -> None:
    assert samples(start(make_runner())) == {}


def test_an_unusable_token_file_shows_until_it_is_mended(start, make_runner, tokens) -> None:
    file: Path = tokens.write("ann")
    good = file.read_text()
    client = start(make_runner(), tokens_file=file)
    before = samples(client)

    file.write_text("ann no-digest\n")
    broken = samples(client)
    file.write_text(good)

    assert before == {(RELOAD, "tokens"): 1}
    assert broken == {(RELOAD, "tokens"): 0}
    assert samples(client) == before


def test_a_missing_certificate_shows_and_the_expiry_is_the_served_one_s(
    start, make_runner, authority
) -> None:
    settings = authority.serve()
    certificate = x509.load_pem_x509_certificate(settings["tls_certificate_file"].read_bytes())
    client = start(make_runner(), **settings)
    before = samples(client)

    settings["tls_certificate_file"].unlink()

    expiry = certificate.not_valid_after_utc.timestamp()
    assert before == {(RELOAD, "certificates"): 1, (EXPIRY, ""): expiry}
    assert samples(client) == {(RELOAD, "certificates"): 0, (EXPIRY, ""): expiry}
