"""Inter-process communication with workers: frames on a socket, bulk data in shared memory."""
