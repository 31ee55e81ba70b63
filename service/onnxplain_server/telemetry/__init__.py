"""Telemetry of the server: log lines, spans of a request, and OpenTelemetry traces.

Read `spans`, `tracing`, `otel`, `logs`. Spans and logs never hold data of a model or a table.
"""
