"""Sentences on the result of each method, for the summary of a report.

Numbers are written as in the tables of the same method. A result without finite numbers has no
sentence.
"""
