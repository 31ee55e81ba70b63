"""What decides who may call, made from the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onnxplain_server.adapters.access import certificates
from onnxplain_server.adapters.access.certificates import CertificateFiles
from onnxplain_server.adapters.access.jwks_cache import JwksCache
from onnxplain_server.adapters.access.jwks_client import Provider
from onnxplain_server.adapters.access.oidc import Oidc
from onnxplain_server.adapters.access.tokens import TokenFile
from onnxplain_server.adapters.access.watched_files import FileError
from onnxplain_server.config.settings import Settings, SettingsError
from onnxplain_server.transport.admission.authentication import Authenticator, TokenVerifier


@dataclass(frozen=True, slots=True)
class Access:
    """Who may call, and the certificates of gRPC.

    Attributes
    ----------
    callers : Authenticator
    certificates : callable () -> CertificateFiles, or None
        Those of the moment; None where gRPC is not encrypted.
    """

    callers: Authenticator
    certificates: Callable[[], CertificateFiles] | None


def access(settings: Settings) -> Access:
    """Make what decides; a provider of tokens is asked for its keys in the background.

    Raises
    ------
    SettingsError
        Where a file cannot be used.
    """
    try:
        holder = certificates.certificate_caller if settings.tls_client_ca_file else None
        return Access(Authenticator(list(_ways(settings)), holder), _certificates(settings))
    except FileError as error:
        raise SettingsError(str(error)) from None


def _ways(settings: Settings) -> Iterator[TokenVerifier]:
    if settings.tokens_file is not None:
        yield TokenFile(settings.tokens_file)
    if settings.oidc_issuer is not None and settings.oidc_audience is not None:
        algorithms = settings.oidc_algorithms.split(",")
        provider = Provider(settings.oidc_issuer, settings.oidc_jwks_url, algorithms)
        # Half of what can be at work, so that a slow provider holds up nobody else.
        keys = JwksCache(provider.keys, (settings.running_count + settings.waiting_count + 1) // 2)
        keys.begin()
        yield Oidc(
            settings.oidc_issuer,
            settings.oidc_audience,
            algorithms,
            settings.oidc_caller_claim,
            keys.find,
        )


def _certificates(settings: Settings) -> Callable[[], CertificateFiles] | None:
    if settings.tls_certificate_file is None or settings.tls_key_file is None:
        return None
    return certificates.watch_certificates(
        settings.tls_certificate_file, settings.tls_key_file, settings.tls_client_ca_file
    ).value
