"""Sweeps: hybrid rows that take some columns from other rows, predicted in batches.

Read `sweep`, then `tile` and `layer_tile`, the batches of rows; `averages_cache` records averages
that a sweep has finished.
"""
