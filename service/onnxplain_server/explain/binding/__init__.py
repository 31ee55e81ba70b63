"""Binding of a table to the inputs of a model: names of columns, weights of rows."""
