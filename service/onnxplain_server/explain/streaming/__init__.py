"""Tables that are read in blocks: read `streamed_rows`, then `remote_tasks`."""
