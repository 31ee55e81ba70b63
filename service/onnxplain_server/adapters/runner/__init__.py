"""Runner in this process: decodes a request, loads its model and table, explains, encodes.

In reading order: `in_process` with its caches of models and tables (`table_cache`), `timed_model`,
`receipt` and `single_flight`; and `local_decoder`. It computes without isolation, so
servers run it inside `workers`.
"""
