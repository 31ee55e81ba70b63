"""REST transport: waitress server, Flask routes, errors as RFC 9457 problems, OpenAPI.

Read `rest_server`, `request_parser`, `waitress_channel`, `connection_limit`, `routes`,
`request_handling`, `request_body`, `problems`. Nothing here schedules or computes.
"""
