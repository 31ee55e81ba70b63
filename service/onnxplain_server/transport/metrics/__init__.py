"""Prometheus metrics: counters of requests, gauges of state, the page for scrapers."""
