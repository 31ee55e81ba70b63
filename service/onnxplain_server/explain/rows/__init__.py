"""Rows of a table: their predictions, and what the table holds.

Read `predict` and `describe_table`, then the arrays behind the latter: `column_summary` and
`nearest_rows`. It explains nothing.
"""
