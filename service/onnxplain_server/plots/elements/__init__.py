"""Plot elements that several methods share: bars, curves, heat maps, labels, style.

Read `chart` and `labels` first. Nothing here knows of a particular plot.
"""
