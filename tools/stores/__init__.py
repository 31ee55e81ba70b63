"""Stores that tests and benchmarks read from: real ones, and an HTTPS server, on 127.0.0.1.

`faulty_server` answers as its faults tell it to: `https_server` with objects of its own, `proxy`
with those of another server. Each start is a context manager, and ends what it started.
"""
