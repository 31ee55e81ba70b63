"""Pace of a model, and the methods and rows that fit into a time: read `pace`, `overview`."""
