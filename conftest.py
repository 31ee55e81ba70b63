"""Plugins of all folders of tests, and one thread of OpenMP for each process of them."""

import os

# Threads of OpenMP spin while they wait for each other: two processes of two threads on two
# processors grow trees ten times as slowly. Read when scikit-learn is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["tools.missing_programs", "tools.testing.frozen"]
