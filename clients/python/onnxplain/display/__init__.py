"""HTML and pictures for notebooks and files: plots, tables, the overview of an answer.

Reads results; computes nothing. Only `rendering` knows the program that draws, which need not be
installed.
"""
