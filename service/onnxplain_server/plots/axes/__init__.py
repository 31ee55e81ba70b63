"""Axes of the values of a feature: number lines, lists of categories, and missing values.

Read `layout` first.
"""
