"""Worker pool: answers requests in sandboxed processes that can be killed.

A zygote (fork server), started before the server has threads, preloads all code and nothing else.
Workers are forked from it, give up every right that computing does not need, and only then see
client data. The parent validates everything that they send. In reading order: in the parent
`isolated`, `pool`, `worker_process`, `zygote_process`; in the children `zygote`, `worker_loop`,
`remote_host`.

    isolated ─▶ pool ─▶ worker_process ═ socket and arena ═ worker_loop ─▶ in_process
                 └────▶ zygote_process ─▶ zygote ─ fork ─────▶┘ └─▶ sandbox
"""
