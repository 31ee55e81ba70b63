"""Cluster of a server: what it did."""
