"""Sandbox of a worker: rlimits, no_new_privs, Landlock, no capabilities, and seccomp.

In reading order: `resource_limits`, which applies all of them, `landlock`, `capabilities`, `calls`
and the filter of them, `seccomp`; `preload` and `warm_up` load and compile in the zygote all that a
sandboxed worker no longer can.
"""
