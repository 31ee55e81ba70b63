"""Telemetry of the server: log lines, spans, OpenTelemetry traces."""
