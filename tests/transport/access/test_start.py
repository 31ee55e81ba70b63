"""Errors that stop the start: one line that names the setting or file, and the rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnxplain_server.access import build_access
from onnxplain_server.config.loading import load
from onnxplain_server.config.setting_names import SettingsError

ISSUER = "https://issuer.example"
GOOD = {"oidc_issuer": ISSUER, "oidc_audience": "a"}


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"oidc_issuer": ISSUER}, "ONNXPLAIN_OIDC_ISSUER (--oidc-issuer) needs ONNXPLAIN_OIDC_AUD"),
        ({"oidc_audience": "a"}, "needs ONNXPLAIN_OIDC_ISSUER"),
        ({"oidc_jwks_url": ISSUER}, "needs ONNXPLAIN_OIDC_ISSUER"),
        ({"tls_certificate_file": "a"}, "needs ONNXPLAIN_TLS_KEY_FILE"),
        ({"tls_key_file": "a"}, "needs ONNXPLAIN_TLS_CERTIFICATE_FILE"),
        ({"tls_client_ca_file": "a"}, "needs ONNXPLAIN_TLS_CERTIFICATE_FILE"),
        ({**GOOD, "oidc_algorithms": "none"}, "ONNXPLAIN_OIDC_ALGORITHMS"),
        ({**GOOD, "oidc_algorithms": "HS256"}, "must be a comma-separated list of RS256"),
        ({**GOOD, "oidc_algorithms": "RS256,HS512"}, "must be a comma-separated list of RS256"),
        ({**GOOD, "oidc_algorithms": ""}, "must be a comma-separated list of RS256"),
        ({**GOOD, "oidc_issuer": "http://issuer.example"}, "must be an https:// address"),
        ({**GOOD, "oidc_issuer": "issuer"}, "must be an https:// address"),
        ({**GOOD, "oidc_jwks_url": "http://10.0.0.1/keys"}, "must be an https:// address"),
        ({**GOOD, "oidc_jwks_url": "file:///keys"}, "must be an https:// address"),
        ({**GOOD, "oidc_audience": ""}, "ONNXPLAIN_OIDC_AUDIENCE"),
        ({"allowed_hosts": "a.example:80"}, "must be host names without port"),
        ({"allowed_hosts": "http://a.example"}, "must be host names without port"),
        ({"allowed_hosts": "a, ,b"}, "must be host names without port"),
        ({"allowed_hosts": "*.a.example"}, "must be host names without port"),
        ({"allowed_origins": "app.example.com"}, "must be origins with scheme"),
        ({"allowed_origins": "https://app.example.com/"}, "must be origins with scheme"),
        ({"allowed_origins": "*"}, "must be origins with scheme"),
        ({"allowed_origins": "null"}, "must be origins with scheme"),
    ],
)
def test_settings_that_cannot_work_stop_the_start(settings: dict[str, str], fault: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(settings)

    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        GOOD,
        {**GOOD, "oidc_issuer": "accounts.example", "oidc_jwks_url": f"{ISSUER}/keys"},
        {**GOOD, "oidc_issuer": "http://localhost:8000"},
        {**GOOD, "oidc_issuer": "http://[::1]:8000", "oidc_algorithms": "EdDSA, PS256"},
    ],
)
def test_settings_that_can_work_do_not(settings: dict[str, str]) -> None:
    assert load(settings).oidc_issuer == settings["oidc_issuer"]


def test_a_bad_line_of_tokens_stops_the_start(tokens) -> None:
    tokens.path.write_text("# all\nann hunter2\n")

    with pytest.raises(SettingsError, match=r"tokens, line 2: the second word is no SHA-256"):
        build_access(load({"tokens_file": tokens.path}))


def test_files_that_are_missing_stop_the_start(tmp_path: Path) -> None:
    missing = tmp_path / "missing"

    with pytest.raises(SettingsError, match="missing: No such file"):
        build_access(load({"tokens_file": missing}))
    with pytest.raises(SettingsError, match="missing: No such file"):
        build_access(load({"tls_certificate_file": missing, "tls_key_file": missing}))


def test_certificates_that_do_not_fit_stop_the_start(authority, tmp_path: Path) -> None:
    good = authority.serve()
    other = tmp_path / "other.key"
    other.write_bytes(authority.issue("other")[0])
    empty = tmp_path / "empty.pem"
    empty.write_bytes(b"no PEM")

    for settings, fault in (
        ({"tls_key_file": other}, "other.key: the key is not that of .*tls.crt"),
        ({"tls_key_file": empty}, "empty.pem: has no private key"),
        ({"tls_certificate_file": empty}, "empty.pem: has no certificates"),
        ({"tls_client_ca_file": empty}, "empty.pem: has no certificates"),
    ):
        with pytest.raises(SettingsError, match=fault):
            build_access(load({**good, **settings}))
