"""Workers can compile nothing, so everything has been compiled before they are forked."""

from __future__ import annotations

import ast
import subprocess
import sys

CODE = f"""
import gc, sys
sys.path[:0] = {[entry for entry in sys.path if entry]!r}
from numba.core.caching import NullCache
from numba.core.registry import CPUDispatcher
from onnxplain_server.adapters.workers import preload
preload.load()
kernels = [each for each in gc.get_objects() if isinstance(each, CPUDispatcher)]
kept = [each for each in kernels if not isinstance(each._cache, NullCache)]
print([(each.py_func.__qualname__, len(each.nopython_signatures)) for each in kept])
"""


def test_each_compiled_loop_is_there_for_the_one_kind_of_numbers_that_it_gets() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, check=True, timeout=300
    )
    kernels = ast.literal_eval(done.stdout.decode())

    assert len(kernels) > 5
    assert {name for name, count in kernels if count != 1} == set()
