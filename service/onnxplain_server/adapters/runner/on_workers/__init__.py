"""Predictions on workers: calls of a model that run elsewhere, for one request at a time.

Here calls are made and answers awaited (`worker_calls`), and, on the worker, rows are predicted
(`prediction_task`). `adapters/cluster` moves both as bytes; nothing here knows how.
"""
