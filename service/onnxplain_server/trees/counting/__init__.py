"""Counting rows in leaves: weighted shares and sums by which exact effects are computed."""
