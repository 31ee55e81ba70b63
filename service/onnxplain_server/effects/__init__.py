"""Effects of any model, by predicting: grids, batches, averages. Nothing here knows of requests."""
