"""Queueing of a server: how long its callers wait."""
