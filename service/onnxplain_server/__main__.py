"""Builds the parts and hands them to the command line."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping

from onnxplain_server import cli
from onnxplain_server.run import Cache, Runner

_CACHE_BYTES = 256 * 2**20


def main() -> None:
    """Run the command line."""
    cli.app(obj=cli.Parts(_runner, _cache, _serve), prog_name="onnxplain")


# Imports stand inside (PLC0415), because onnxruntime and Flask take a second that most commands
# do not need.


def _runner(thread_count: int | None = None) -> Runner:
    from onnxplain_server.adapters.in_process import InProcess  # noqa: PLC0415

    return InProcess(threads=thread_count or len(os.sched_getaffinity(0)))


def _cache(byte_limit: int = _CACHE_BYTES) -> Cache:
    from onnxplain_server.adapters.memory_cache import MemoryCache  # noqa: PLC0415
    from onnxplain_server.adapters.seal import Seal  # noqa: PLC0415

    return MemoryCache(byte_limit, Seal(secrets.token_bytes(32)))


def _serve(flags: Mapping[str, object]) -> None:
    from onnxplain_server import serve, settings  # noqa: PLC0415

    chosen = settings.load(flags)
    logging.basicConfig(
        level=chosen.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    serve.run(chosen, _runner(chosen.thread_count), _cache(chosen.cache_bytes))


if __name__ == "__main__":
    main()
