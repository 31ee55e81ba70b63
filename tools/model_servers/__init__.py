"""Servers of models for tests of remote models, and what a test needs to ask them."""
