"""Remote models of requests: predictions asked at an address, checked, counted, remembered.

In reading order: `opened`, which holds what a request has of its remote model, `model`, `probes`,
`answers`, `row_memo`, `guarded_host`. Nothing here opens a connection: `core.remote.models` tells
how calls are made. Answers are data that nobody vouches for: their shape and type are checked.
"""
