"""Transport: gRPC calls with retry, uploads in parts, TLS and tokens, for threads and asyncio.

Every failure of a call is an `onnxplain.ExplainError`. Messages pass through unread, apart
from the files that they hold; options and results are not known here.
"""
