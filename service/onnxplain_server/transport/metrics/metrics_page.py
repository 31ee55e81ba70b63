"""Metrics page: `/metrics` in Prometheus or OpenMetrics format, as the scraper accepts."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import CollectorRegistry, make_wsgi_app

_PATH = "/metrics"


def create_metrics_app(registry: CollectorRegistry) -> WSGIApplication:
    """Make the WSGI application, which serves only `/metrics`."""
    page: WSGIApplication = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") == _PATH:
            return page(environ, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"metrics are at {_PATH}\n".encode()]

    return answer
