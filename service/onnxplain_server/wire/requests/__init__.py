"""Requests: their messages by method of the service; those for predictions, and about tables."""
