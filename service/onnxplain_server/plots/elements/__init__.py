"""Plot elements that several methods share: charts, labels, numbers, planes, style.

Read `chart` and `labels` first. Nothing here knows of a particular plot.
"""
