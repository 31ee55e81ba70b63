"""Prometheus metrics of access control: reloads of its files, expiry of the certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from onnxplain_server.adapters.access.watched_files import WatchedFiles

if TYPE_CHECKING:
    from onnxplain_server.adapters.access.certificates import CertificateFiles


class AccessState(Collector):
    """Collector of the files of access control; a scrape reloads files that have changed.

    Parameters
    ----------
    tokens : WatchedFiles or None
        The token file, if there is one.
    certificates : WatchedFiles or None
        The files of TLS, if gRPC is encrypted.
    """

    def __init__(
        self,
        tokens: WatchedFiles[Any] | None = None,
        certificates: WatchedFiles[CertificateFiles] | None = None,
    ) -> None:
        files: Mapping[str, WatchedFiles[Any] | None] = {
            "tokens": tokens,
            "certificates": certificates,
        }
        self._files = {name: watched for name, watched in files.items() if watched is not None}
        self._certificates = certificates

    def collect(self) -> Iterator[Metric]:
        """Yield one family per metric; files that are not used have no series."""
        reloads = GaugeMetricFamily(
            "onnxplain_last_reload_successful",
            "0 while files of access control (tokens, certificates) have changed and are "
            "unusable; the previous content stays in force.",
            labels=["files"],
        )
        expiry = GaugeMetricFamily(
            "onnxplain_certificate_expiry_timestamp_seconds",
            "Time at which the certificate chain of gRPC expires, since unix epoch.",
            labels=(),
        )
        for name, watched in self._files.items():
            watched.value()
            reloads.add_metric([name], watched.is_current)
        if self._certificates is not None:
            expiry.add_metric([], self._certificates.value().expiry)
        yield from (reloads, expiry)
