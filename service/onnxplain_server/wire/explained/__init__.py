"""Rows that platforms send to an explainer, and its background, as columns of one table.

Read `explained_rows`, `explained_columns`; `background_columns` is a program of its own, the only
module here that loads what reads tables.
"""
