"""Results as Vega-Lite version 6 specifications: plain data, rendered by whoever receives them.

Read `registry`, a method's file, then `elements`, `axes` and `units`, which they share. Nothing
here computes statistics, renders images or knows of messages.
"""
