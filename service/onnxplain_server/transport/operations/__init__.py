"""Operations: calls that store requests, and threads that claim them, compute them and end them.

Read `operation_calls`, `executor`, `heartbeat`.
"""
