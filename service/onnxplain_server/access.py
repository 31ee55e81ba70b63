"""Access control of a server, built from its settings: token verifiers and certificates."""

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
from onnxplain_server.config.setting_names import SettingsError
from onnxplain_server.config.settings import Settings
from onnxplain_server.transport.admission.authentication import Authenticator, TokenVerifier


@dataclass(frozen=True, slots=True)
class Access:
    """Authenticator of callers, and the certificates of gRPC.

    Attributes
    ----------
    authenticator : Authenticator
    certificates : callable () -> CertificateFiles, or None
        Returns the current certificates; None if gRPC is not encrypted.
    """

    authenticator: Authenticator
    certificates: Callable[[], CertificateFiles] | None


def build_access(settings: Settings) -> Access:
    """Build access control; keys of an OpenID provider are fetched in the background.

    Raises
    ------
    SettingsError
        If a file cannot be used.
    """
    try:
        holder = certificates.certificate_caller if settings.tls_client_ca_file else None
        return Access(Authenticator(list(_verifiers(settings)), holder), _certificates(settings))
    except FileError as error:
        raise SettingsError(str(error)) from None


def _verifiers(settings: Settings) -> Iterator[TokenVerifier]:
    if settings.tokens_file is not None:
        yield TokenFile(settings.tokens_file)
    if settings.oidc_issuer is not None and settings.oidc_audience is not None:
        algorithms = settings.oidc_algorithms.split(",")
        provider = Provider(settings.oidc_issuer, settings.oidc_jwks_url, algorithms)
        # Half of the admitted requests, so that a slow provider blocks no others.
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
