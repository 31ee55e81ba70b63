"""Comparisons of answers on the wire: kept replicates, references of requests, what has changed."""
