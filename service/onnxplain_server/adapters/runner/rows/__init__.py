"""Requests about rows of a table, beside explanations."""
