"""Canonical form of URIs: one spelling for each address, and refusal of all that has several.

Prefixes are compared after this, on whole segments. urllib.parse, yarl and rfc3986 accept what is
to be refused here (user-info, other forms of numbers, encoded dots), so the grammar is written out.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from onnxplain_server.core.errors import ExplainError, Reason

LENGTH_LIMIT = 2_048
"""Characters of an address, as `Model.uri` in the contract says."""

HTTPS_PORT = 443

SOURCE_SCHEMES = ("s3", "gs", "https", "file", "models")
"""Schemes of models and tables."""

RESULT_SCHEMES = ("s3", "gs", "file")
"""Schemes of results."""

RESULT_FIELD = "result_uri"

WEB_PORTS = {"https": HTTPS_PORT, "http": 80, "grpcs": None, "grpc": None}
"""Schemes whose authority is a host, each with the port that is left out; None: it is named."""

_ENCODED = {*WEB_PORTS, "file"}
"""Schemes whose paths are percent-encoded."""

_SHAPE = re.compile(r"([a-z0-9+.-]+):(//[^/]*)?(/.*)?", re.IGNORECASE | re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){1,61}[a-z0-9]")
_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_MODEL = re.compile(r"[^/@:]+(?:/[0-9]+|@[A-Za-z0-9_-]+)")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HIDDEN = re.compile(r"%(?:2e|2f|5c|25|3b|[01][0-9a-f]|7f)", re.IGNORECASE)
"""Dots, slashes, percent signs, semicolons and control characters in disguise."""

_HIDDEN_IN_FILES = re.compile(r"%(?:2f|5c|[01][0-9a-f]|7f)", re.IGNORECASE)
"""Slashes and control characters: names of files may have the others."""

_UNESCAPED = "!$&'()*+,-.:=@_~"
"""Characters of a segment that stand for themselves, besides letters and digits."""


@dataclass(frozen=True, slots=True)
class CanonicalUri:
    """Address in its only spelling.

    Attributes
    ----------
    scheme : str
        One of `SOURCE_SCHEMES` or `WEB_PORTS`.
    authority : str
        Bucket, or host with a port that is not the scheme's own; empty for file and models.
    segments : tuple of str
        Parts of the path, decoded.
    is_folder : bool
        Whether the path ends with a slash.
    """

    scheme: str
    authority: str
    segments: tuple[str, ...]
    is_folder: bool = False

    @property
    def path(self) -> str:
        """Path without the slash in front: a key of a bucket."""
        return "/".join(self.segments) + ("/" if self.is_folder and self.segments else "")

    def __str__(self) -> str:
        path = self.path
        if self.scheme == "models":
            return f"models:/{path}"
        if self.scheme in _ENCODED:
            path = quote(path, safe=f"/{_UNESCAPED}")
        return f"{self.scheme}://{self.authority}/{path}"

    def is_below(self, prefix: CanonicalUri) -> bool:
        """Return whether it is the prefix, or lies below it, by whole segments."""
        size, segments = len(prefix.segments), self.segments
        if self.scheme == "models":  # a name with an alias is below the name
            segments = (segments[0].partition("@")[0], *segments[1:])
        return (
            (self.scheme, self.authority) == (prefix.scheme, prefix.authority)
            and segments[:size] == prefix.segments
            and (len(segments) > size or self.is_folder or not prefix.is_folder)
        )


def canonical(
    uri: str,
    field: str = "",
    schemes: tuple[str, ...] = SOURCE_SCHEMES,
    *,
    tells_files: bool = False,
) -> CanonicalUri:
    """Return the canonical form of an address of one of these schemes.

    With `tells_files`, errors name file:/// among the schemes: a server refuses files of its own.

    Raises
    ------
    ExplainError
        INVALID_REQUEST with the rule that it breaks.
    """
    try:
        return _parsed(uri, schemes, is_prefix=False, tells_files=tells_files)
    except ValueError as error:
        raise ExplainError(
            Reason.INVALID_REQUEST, f"the URI {without_secrets(uri)} {error}", field
        ) from None


def canonical_result(uri: str, *, tells_files: bool) -> CanonicalUri:
    """Return the canonical form of the address of a result, which is an object or a file.

    Raises
    ------
    ExplainError
        INVALID_REQUEST; see `canonical`.
    """
    target = canonical(uri, RESULT_FIELD, RESULT_SCHEMES, tells_files=tells_files)
    if target.is_folder:
        fault = f'result_uri "{target}" is a folder; add the name of a file'
        raise ExplainError(Reason.INVALID_REQUEST, fault, RESULT_FIELD)
    return target


def canonical_prefix(uri: str, schemes: tuple[str, ...] = SOURCE_SCHEMES) -> CanonicalUri:
    """Return the canonical form of a prefix; ValueError with the rule that it breaks."""
    return _parsed(uri, schemes, is_prefix=True)


def without_secrets(uri: str) -> str:
    """Return a URI for messages: without user-info, query and fragment, in quotes."""
    shown = re.sub(r"//[^/?#]*@", "//…@", re.split(r"[?#]", uri, maxsplit=1)[0])
    return f'"{shown[:300]}"'


def _parsed(
    uri: str, schemes: tuple[str, ...], *, is_prefix: bool, tells_files: bool = False
) -> CanonicalUri:
    if len(uri) > LENGTH_LIMIT:
        raise ValueError(f"has more than {LENGTH_LIMIT:,} characters")
    if "?" in uri or "#" in uri:
        raise ValueError("must have neither a query nor a fragment")
    if "\\" in uri or not uri.isprintable():
        raise ValueError("must have no backslashes and no control characters")
    shape = _SHAPE.fullmatch(uri)
    scheme = shape[1].lower() if shape else ""
    if shape is None or scheme not in schemes:
        raise ValueError(f"must begin with {_told_schemes(schemes, tells_files)}")
    if (shape[2] is None) != (scheme == "models"):
        raise ValueError("must look like models:/NAME/VERSION, or SCHEME://PLACE/PATH")
    authority = _authority(scheme, (shape[2] or "//")[2:])
    segments, is_folder = _path(scheme, shape[3] or "/")
    if scheme == "models" and not is_prefix and not _MODEL.fullmatch("/".join(segments)):
        raise ValueError("must look like models:/NAME/VERSION or models:/NAME@ALIAS")
    return CanonicalUri(scheme, authority, segments, is_folder)


def _told_schemes(schemes: tuple[str, ...], tells_files: bool) -> str:
    told = {"models": "models:/", "file": "file:///"}
    names = [name for name in schemes if name != "file" or tells_files]
    *others, last = (told.get(name, f"{name}://") for name in names)
    return f"{', '.join(others)} or {last}"


def _authority(scheme: str, text: str) -> str:
    if "@" in text:
        raise ValueError("must have no user and no password: credentials are the operator's")
    if scheme in {"file", "models"}:
        if text:
            raise ValueError("must have no host: file:///PATH")
        return ""
    if scheme in WEB_PORTS:
        return _host(text, WEB_PORTS[scheme])
    if not _BUCKET.fullmatch(text):
        raise ValueError("must have the name of a bucket after //: lower case, without a port")
    return text


def _host(text: str, own_port: int | None) -> str:
    """Return host and port in their canonical form, the scheme's own port left out."""
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, port = text, str(own_port or "")
    if not _PORT.fullmatch(port) or int(port) > 65_535:
        rule = "must have a port between 1 and 65535"
        raise ValueError(rule if own_port is None else f"{rule}, or none")
    host = host.lower()
    if not _HOST.fullmatch(host):
        host = _address(host)
    return host if int(port) == own_port else f"{host}:{port}"


def _address(host: str) -> str:
    """Return an IP address in its canonical form; other forms of numbers are refused."""
    is_bracketed = host.startswith("[") and host.endswith("]")
    try:
        address = ipaddress.ip_address(host[1:-1] if is_bracketed else host)
    except ValueError:
        address = None
    is_plain = address is not None and (address.version == 6) == is_bracketed
    if address is None or not is_plain or "%" in host:
        raise ValueError(
            "must have a host name of ASCII letters, or an IP address in its usual form"
        )
    if address.version == 6 and (address.ipv4_mapped or address.sixtofour or address.teredo):
        raise ValueError("must not hide an IPv4 address in an IPv6 address")
    return f"[{address}]" if is_bracketed else str(address)


def _path(scheme: str, text: str) -> tuple[tuple[str, ...], bool]:
    if scheme != "file" and _HIDDEN.search(text):
        raise ValueError("must not encode dots, slashes, backslashes, semicolons, % or controls")
    if _HIDDEN_IN_FILES.search(text):
        raise ValueError("must not encode slashes, backslashes or controls")
    if scheme in WEB_PORTS and ";" in text:
        raise ValueError("must have no semicolon")
    if scheme in _ENCODED:
        text = _decoded(text)
    *segments, last = text.split("/")[1:]
    parts = tuple(segments) + ((last,) if last else ())
    if any(part in {"", ".", ".."} for part in parts):
        raise ValueError('must have no empty parts in its path, and none of "." and ".."')
    return parts, not last


def _decoded(text: str) -> str:
    if _ESCAPE.search(text):
        raise ValueError("must have two hexadecimal digits after each %; write % itself as %25")
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ValueError("must encode its path as UTF-8") from None
    if not decoded.isprintable():
        raise ValueError("must not encode control characters")
    return decoded
