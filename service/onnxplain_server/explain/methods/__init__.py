"""Preparation of each method: options resolved, rows drawn, cost bounded; one file per method.

A file here neither computes statistics, which `methods/` does, nor reads messages.
"""
