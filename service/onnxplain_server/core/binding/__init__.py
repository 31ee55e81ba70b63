"""Binding of a table's columns to a model's inputs: as named, by names, or by position."""
