"""Protocols that servers of models speak, and what their answers must be."""
