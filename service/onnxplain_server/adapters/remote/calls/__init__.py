"""Calls of one server: connections, limits, retries, and their end when the request ends."""
