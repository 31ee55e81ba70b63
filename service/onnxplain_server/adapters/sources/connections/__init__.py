"""Connections to stores: one place that resolves, checks, connects, and follows no redirect.

In reading order: `addresses`, `upstream`, `store_connections`, `guard_handler`, `guard`, `web`,
`platform_identity`.
"""
