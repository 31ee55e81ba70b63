"""Connections to stores: one place that resolves, checks, connects, and follows no redirect.

In reading order: `addresses`, `upstream`, `guard`, `guard_handler`, `web`, `platform_identity`.
"""
