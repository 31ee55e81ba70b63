"""Support of the table: which pairs of values of two features its rows hold together.

Reading order: `rank_bins`, `pair_support`. Arrays in, arrays out: nothing here predicts.
"""
