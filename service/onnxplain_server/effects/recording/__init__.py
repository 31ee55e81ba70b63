"""What a computation leaves in the cache for a later attempt: finished effects, unfinished work.

Read `journal` first. Nothing here predicts, and no name of a record or number depends on time.
"""
