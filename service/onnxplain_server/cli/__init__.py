"""Command line `onnxplain`: turns files and flags into a request, and prints or stores the answer.

Read `commands`, `explain`, `requests`, `backend`, `output`. Commands call a runner or a
server and compute nothing themselves. Standard output has only the answer.

Lazy imports: the module of a command is imported when the command is called.
"""

from __future__ import annotations

from onnxplain_server.cli.commands import app
from onnxplain_server.cli.failure import CommandError
from onnxplain_server.cli.parts import ServiceParts

__all__ = ["CommandError", "ServiceParts", "app"]
