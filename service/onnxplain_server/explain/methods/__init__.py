"""Preparation of each method: options resolved, rows chosen, cost bounded; one file per method."""
