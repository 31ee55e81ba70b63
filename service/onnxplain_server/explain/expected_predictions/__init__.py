"""Comparison of a model's predictions with those that its library made, and its likely causes.

In reading order: `expected` reads the columns, `differences` judges what is rounding, `compare` is
the use case, and `causes` lists the causes, each of which a module of its own tries on the rows of
a `trial`.
"""
