"""Records of a computation in the cache for later attempts: finished effects, unfinished work.

Read `journal` first. Nothing here predicts, and no name of a record or number depends on time.
"""
