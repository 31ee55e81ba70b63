"""Kubernetes without containers: a real control plane on loopback, and pods as processes.

It runs in a network namespace and a mount namespace of its own (`unshare --net --mount`), so that
addresses and ports are free, and so that nothing outside can be reached.
"""
