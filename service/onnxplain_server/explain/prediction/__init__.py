"""Predictions of a request: expressions over the outputs of the model, explained in their place."""
