"""Scanners: fields of a message and values of JSON, found in bytes without building a message."""
