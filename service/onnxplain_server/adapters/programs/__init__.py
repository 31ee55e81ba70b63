"""Programs of workers, one for each kind: what its zygote loads, and how its workers answer.

A zygote imports one of them by name: `compute_worker`, `learn_worker`, `decode_worker`
or, on workers of a cluster, `task_worker`. `preload` and `warm_up` load and compile in the zygote
all that a sandboxed worker no longer can.
"""
