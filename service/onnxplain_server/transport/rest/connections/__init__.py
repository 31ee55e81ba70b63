"""Connections of the REST server: their limits, what is parsed before a route, and replies."""
