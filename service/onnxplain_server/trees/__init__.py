"""Exact effects of tree ensembles, from leaves and counts of rows instead of predictions."""
