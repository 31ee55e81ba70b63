"""Runs of the tests: their profile, repetition of failures, selection by imports, parts of CI."""
