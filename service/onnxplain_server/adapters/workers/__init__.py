"""Worker pools: answer requests, and decode bodies, in sandboxed processes that can be killed.

A zygote (fork server), started before the server has threads, preloads all code and nothing else.
Workers are forked from it, give up every right that their work does not need, and only then see
client data. The parent validates everything that they send. Each kind has a zygote and a program
(`adapters/programs`) of its own: `compute_worker` runs models, one caller's in each;
`decode_worker` reads JSON and forms of all callers, and imports nothing that computes;
`task_worker` computes tasks on workers of a cluster. In reading order: in the parent `isolated` and
`isolated_decoder`, `worker_client`, `pool`, `worker_process`, `frame_server`, `zygote_process`; in
the children `zygote`, `worker_loop`, `remote_host`.

    isolated ─▶ worker_client ─▶ worker_process ═ socket and arena ═ worker_loop ─▶ compute_worker
                 └─▶ pool ─▶ zygote_process ─▶ zygote ─ fork ────────▶┘ └─▶ sandbox
"""
