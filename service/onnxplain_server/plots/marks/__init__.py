"""Marks that several methods draw: bars, curves, bundles, surfaces, and what stands under them.

Read `bars` and `curves` first. Nothing here knows of a particular plot.
"""
