"""Conversion between messages, JSON or table files and the values of `explain`, both ways.

Read `question` and `answer`, then `message_fields` with `method_options` and `method_results`,
`table`, and `canonical` for JSON. It neither computes nor knows of gRPC, HTTP or sockets.
"""
