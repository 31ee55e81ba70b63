"""Authentication of callers by token file, by JWT of an OpenID provider or by client certificate.

In reading order: `tokens`, `oidc` with `jwks_cache` and `jwks_client`, `certificates`, and
`watched_files`, which reloads files while the server runs. Modules here name the caller; they
neither decide what a caller may do nor know the transport.
"""
