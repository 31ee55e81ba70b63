"""gRPC transport: server, methods, interceptors, errors."""
