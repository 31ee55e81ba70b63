"""Servers of models that tests ask for predictions, from environments of their own."""
