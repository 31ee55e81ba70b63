"""Operations: threads that claim stored requests, compute them as the service does, and end them.

Read `executor`, `heartbeat`.
"""
