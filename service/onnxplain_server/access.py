"""Access control of a server, built from its settings: token verifiers and certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from flask import Blueprint

from onnxplain_server.adapters.access.access_metrics import AccessState
from onnxplain_server.adapters.access.tokens import TokenFile
from onnxplain_server.adapters.access.watched_files import FileError, WatchedFiles
from onnxplain_server.config.setting_names import SettingsError
from onnxplain_server.config.settings import Settings
from onnxplain_server.transport.admission.authentication import Authenticator, TokenVerifier
from onnxplain_server.transport.rest.page_routes import Login, PageConfig, page_routes
from onnxplain_server.transport.service import Service

if TYPE_CHECKING:
    from onnxplain_server.adapters.access.certificates import CertificateFiles

# Imports are local (PLC0415) where they load cryptography, 6 MiB that most servers do not need.

_WAITING_LIMIT = 16
"""Most waiting requests of which half may wait for the keys of a provider."""


@dataclass(frozen=True, slots=True)
class Access:
    """Authenticator of callers, and the certificates of gRPC.

    Attributes
    ----------
    authenticator : Authenticator
    certificates : callable () -> CertificateFiles, or None
        Returns the current certificates; None if gRPC is not encrypted.
    state : AccessState
        Collector of metrics.
    token_origin : callable () -> str, or None
        Origin of the token endpoint of the OpenID provider, empty while it is not known; None
        without a provider.
    """

    authenticator: Authenticator
    certificates: Callable[[], CertificateFiles] | None
    state: AccessState
    token_origin: Callable[[], str] | None


def build_access(settings: Settings) -> Access:
    """Build access control; keys of an OpenID provider are fetched in the background.

    Raises
    ------
    SettingsError
        If a file cannot be used.
    """
    try:
        tokens = None if settings.tokens_file is None else TokenFile(settings.tokens_file)
        certificates = _certificates(settings)
        verifiers: list[TokenVerifier] = [] if tokens is None else [tokens]
        openid = _openid(settings)
        if openid is not None:
            verifiers.append(openid[0])
        return Access(
            Authenticator(verifiers, _certificate_caller(settings)),
            None if certificates is None else certificates.value,
            AccessState(None if tokens is None else tokens.callers, certificates),
            None if openid is None else openid[1],
        )
    except FileError as error:
        raise SettingsError(str(error)) from None


def build_page(settings: Settings, service: Service, access: Access) -> Blueprint | None:
    """Build the routes of the page, with its login at a provider that knows it as a client."""
    if not settings.page:
        return None
    login = None
    if settings.oidc_issuer is not None and settings.oidc_client_id is not None:
        scopes = tuple(settings.oidc_scopes.split())
        login = Login(settings.oidc_issuer, settings.oidc_client_id, scopes, access.token_origin)
    return page_routes(
        PageConfig(
            version("onnxplain-server"),
            needs_token=any(
                (settings.tokens_file, settings.oidc_issuer, settings.tls_client_ca_file)
            ),
            upload_bytes={part: each.byte_count for part, each in service.upload_limits.items()},
            has_operations=service.operations is not None,
            has_sources=settings.sources_file is not None,
            login=login,
        )
    )


def _openid(settings: Settings) -> tuple[TokenVerifier, Callable[[], str]] | None:
    """Return the verifier of an OpenID provider's tokens, and the origin of its token endpoint."""
    if settings.oidc_issuer is not None and settings.oidc_audience is not None:
        from onnxplain_server.adapters.access.jwks_cache import JwksCache  # noqa: PLC0415
        from onnxplain_server.adapters.access.jwks_client import Provider  # noqa: PLC0415
        from onnxplain_server.adapters.access.oidc import TOKEN_TYPES, Oidc  # noqa: PLC0415

        algorithms = settings.oidc_algorithms.split(",")
        provider = Provider(settings.oidc_issuer, settings.oidc_jwks_url, algorithms)
        # At most half of the admitted requests, so that a slow provider blocks no others.
        waiting_count = min(settings.waiting_count, _WAITING_LIMIT)
        keys = JwksCache(provider.keys, (settings.running_count + waiting_count + 1) // 2)
        keys.begin()
        verifier = Oidc(
            settings.oidc_issuer,
            settings.oidc_audience,
            algorithms,
            settings.oidc_caller_claim,
            keys.find,
            types=TOKEN_TYPES[settings.oidc_token_type],
        )

        def token_origin() -> str:
            keys.begin()  # discovers it again, where it is time for that
            return provider.token_origin

        return verifier, token_origin
    return None


def _certificate_caller(settings: Settings) -> Callable[[bytes], str | None] | None:
    if settings.tls_client_ca_file is None:
        return None
    from onnxplain_server.adapters.access.certificates import certificate_caller  # noqa: PLC0415

    return certificate_caller


def _certificates(settings: Settings) -> WatchedFiles[CertificateFiles] | None:
    if settings.tls_certificate_file is None or settings.tls_key_file is None:
        return None
    from onnxplain_server.adapters.access.certificates import watch_certificates  # noqa: PLC0415

    return watch_certificates(
        settings.tls_certificate_file, settings.tls_key_file, settings.tls_client_ca_file
    )
