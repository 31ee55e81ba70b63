"""Plot elements that several methods share: bars, curves, heat maps, axes, labels, style.

Read `chart`, `labels` and `axes` first. Nothing here knows of a particular plot.
"""
