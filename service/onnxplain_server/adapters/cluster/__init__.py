"""Cluster: passes over a table in files, which workers read themselves, and predictions.

What a task takes and returns is bytes, text and numbers: the trees and the pass as `encoding` has
them, the paths of the files, and numbers of blocks; or a model's file and rows. Dask
(`dask_workers`) moves them, and knows who is there, what was lost and has to run again; a plain
executor (`executor_workers`) does without. Workers of Dask hand each task on to a confined process
(`confined_tasks`), of the same kind and sandbox as those of a server. It decodes the table too: its
parent only reads ranges of bytes.

    dask_workers ─ scheduler ─▶ confined_tasks ═ socket and arena ═ task_worker ─▶ TaskComputer

Predictions go the same way, and end at a `PredictionComputer`.
"""
