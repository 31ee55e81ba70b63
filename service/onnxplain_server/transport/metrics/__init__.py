"""Prometheus metrics: request counters and histograms, gauges of the server's state, the page.

Labels come from closed lists: no model, feature or path is ever a label, and only callers that the
operator lists.
"""
