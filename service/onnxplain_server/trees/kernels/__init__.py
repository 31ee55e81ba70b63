"""Compiled kernels over trees, with their compile cache and thread pool."""
