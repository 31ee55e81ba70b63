"""Tables too large for memory, in blocks of rows: Parquet, Arrow IPC and CSV.

Read `table_blocks`, then `block_files` and `csv_blocks`.
"""
