"""Matrices of features by features: the order of the features, and the cells."""
