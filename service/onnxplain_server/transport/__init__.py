"""Transports: gRPC and REST over one service. A transport method only decodes, calls and encodes.

Read `service`, `admission/`, `grpc/`, `rest/`, `metrics/`. Nothing here computes an explanation or
reads a setting.
"""
