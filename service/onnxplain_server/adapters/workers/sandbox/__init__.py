"""Sandbox of a worker: Landlock, seccomp, resource limits, and warm-up before confinement."""
