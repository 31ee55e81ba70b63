"""Requests of commands: `request` builds them from files and flags, `methods` reads `--method`."""
