"""Inter-process communication with workers: frames on a socket, bulk data in shared memory.

In reading order: `channel` (message framing), `payloads`, `arena` (shared memory), `arena_request`
and `arena_reply`, `frame_limits`, `zygote_arguments`, `zygote_protocol`. Decoders here execute
nothing, and validate everything that a worker sends.
"""
