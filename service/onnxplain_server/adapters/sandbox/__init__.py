"""Sandbox of a process: rlimits, no_new_privs, Landlock, no capabilities, and seccomp.

In reading order: `confine`, which applies all of them, `landlock`, `capabilities`, `calls`
and the filter of them, `seccomp`.
"""
