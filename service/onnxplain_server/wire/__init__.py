"""Conversion between messages, JSON or table files and the values of `explain`, both ways.

Read `protobuf_split` and `rest_body`, which find model and table in a request, `question` and
`answer`, then `message_fields` with `method_options`, `table`, `canonical` for
JSON, and `reply`. It neither computes nor knows of gRPC, HTTP or sockets.
"""
