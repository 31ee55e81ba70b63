"""REST transport: waitress server, Flask routes, errors as RFC 9457 problems, OpenAPI."""
