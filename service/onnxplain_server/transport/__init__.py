"""Transports: gRPC and REST over one service, which passes requests and replies on as bytes.

Read `service`, `uploads`, `events`, `admission/`, `grpc/`, `rest/`, `metrics/`. Nothing here
computes an explanation or reads a setting.
"""
