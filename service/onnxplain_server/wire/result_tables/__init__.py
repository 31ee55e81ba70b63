"""Rows of an answer as a Parquet table at `result_uri`.

Start at `row_writing`; `table_check` tells which requests have such a table, and loads nothing
that computes.
"""
