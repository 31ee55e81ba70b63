"""The cluster of a server: a confined worker hands tasks to a process that has the Dask client.

The server starts the process and gives a worker a socket to it, bound to the table of its request.
The process hands the tasks on to the cluster, whose workers read the table by their own list of
sources: neither credentials nor rows of the server leave it.

    worker ═ socket ═ task_session ─ DaskWorkers ─ scheduler ─▶ dask_task ─▶ worker_sources
"""
