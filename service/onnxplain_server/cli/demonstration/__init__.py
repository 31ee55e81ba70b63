"""Demonstration: explains a real model, which the package brings."""
