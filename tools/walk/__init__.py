"""Walks of questions through the processes of the service, counted by a profile hook.

Read `__main__`, then `hook`, which counts in each process.
"""
