"""Admission control: authenticates callers, limits requests, and schedules them fairly.

Read `authentication`, `admission`, `scheduler` (with `fair_queue` and `ticket`), `request_context`.
No module here knows gRPC, HTTP or a method.
"""
