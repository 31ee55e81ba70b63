"""gRPC transport: server, service methods, interceptors, and errors as google.rpc details.

Read `grpc_server`, `interceptors`, `grpc_access`, `grpc_service`, `receiving`.
Nothing here schedules or computes.
"""
