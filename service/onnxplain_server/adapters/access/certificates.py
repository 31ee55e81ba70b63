"""TLS certificates: the server's, reloaded from files, and the caller that a client's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import (
    PrivateKeyTypes,
    PublicKeyTypes,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from onnxplain_server.adapters.access.watched_files import FileError, WatchedFiles

_SPIFFE = "spiffe://"
_NAME_LIMIT = 2048


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """TLS key material, as PEM.

    Attributes
    ----------
    key, chain : bytes
        The server's private key, and the certificate chain that belongs to it.
    client_ca : bytes or None
        CA that signs client certificates; None without mutual TLS.
    expiry : float
        Time at which the first certificate of the chain expires, in seconds since the epoch.
    """

    key: bytes
    chain: bytes
    client_ca: bytes | None
    expiry: float


def watch_certificates(
    certificate: Path, key: Path, client_ca: Path | None
) -> WatchedFiles[CertificateFiles]:
    """Load certificates, and reload them when the files change; raises FileError."""
    files = [certificate, key, *([client_ca] if client_ca else [])]
    return WatchedFiles(files, lambda contents: _parse(files, contents))


def _parse(files: Sequence[Path], contents: Sequence[bytes]) -> CertificateFiles:
    chain, key, *client_ca = contents
    certificates = _certificates(files[0], chain)
    public = certificates[0].public_key()
    if _der(public) != _der(_key(files[1], key).public_key()):
        raise FileError(f"{files[1]}: the key is not that of {files[0]}")
    if client_ca:
        _certificates(files[2], client_ca[0])
    expiry = min(certificate.not_valid_after_utc for certificate in certificates).timestamp()
    return CertificateFiles(key, chain, client_ca[0] if client_ca else None, expiry)


def _certificates(file: Path, content: bytes) -> Sequence[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(content)
    except Exception:  # noqa: BLE001 - cryptography refuses certificates by errors of many types
        raise FileError(f"{file}: has no certificates in PEM") from None


def _key(file: Path, content: bytes) -> PrivateKeyTypes:
    try:
        return load_pem_private_key(content, password=None)
    except (ValueError, TypeError):
        raise FileError(f"{file}: has no private key in PEM, without a password") from None


def _der(public: PublicKeyTypes) -> bytes:
    return public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


@lru_cache(maxsize=256)
def certificate_caller(certificate: bytes) -> str | None:
    """Return the caller of an already verified certificate: its SPIFFE id, else DNS name, else CN.

    None without any of them, or with two SPIFFE ids, which the SPIFFE standard forbids.
    """
    try:
        parsed = x509.load_pem_x509_certificate(certificate)
        name = _subject_name(parsed)
    except Exception:  # noqa: BLE001 - as above
        return None
    printable = name is not None and name.isprintable() and len(name) <= _NAME_LIMIT
    return f"mtls:{name}" if printable else None


def _subject_name(parsed: x509.Certificate) -> str | None:
    try:
        alternatives = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        alternatives = x509.SubjectAlternativeName([])
    uris = alternatives.get_values_for_type(x509.UniformResourceIdentifier)
    if ids := [uri for uri in uris if uri.startswith(_SPIFFE)]:
        return ids[0] if len(ids) == 1 else None
    if hosts := alternatives.get_values_for_type(x509.DNSName):
        return f"dns:{hosts[0]}"
    common = parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return f"cn:{common[0].value!s}" if common and common[0].value else None
