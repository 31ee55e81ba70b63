"""Counts that metrics and the audit log tell: of calls of remote models, of a cluster."""
