"""Tables of files that are read by ranges: Parquet, Arrow IPC and CSV, to one Arrow IPC stream.

In reading order: `partitions`, `file_schemas`, `row_filter`, `prefetch`, then one module for each
format, and `result_stream`. All run in the fetcher, which loads them before it is confined.
"""
