"""S3 by `rclone serve s3`: buckets are folders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.ports import free_port
from tools.stores.process import running

REGION = "us-east-1"
KEY, SECRET = "reader", "the-secret-of-reader"


@dataclass(frozen=True)
class S3:
    """S3 that runs; each folder in `folder` is a bucket."""

    url: str
    folder: Path
    process_id: int

    def put(self, bucket: str, path: str, content: bytes) -> None:
        """Write an object, as a whole; its ETag is the MD5 of its content."""
        file = self.folder / bucket / path
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = self.folder / ".partial"
        partial.write_bytes(content)
        partial.rename(file)


@contextmanager
def s3(program: str, folder: Path, *, has_etags: bool = True) -> Iterator[S3]:
    """Serve `folder`/buckets; keys are KEY and SECRET.

    rclone computes the ETag of an object for each request, from its whole content.
    """
    buckets = folder / "buckets"
    buckets.mkdir(exist_ok=True)
    port = free_port()
    command = [program, "serve", "s3", "--addr", f"127.0.0.1:{port}", "--config", ""]
    # Folders are read anew for each request: objects change behind the server.
    options = ["--auth-key", f"{KEY},{SECRET}", "--dir-cache-time", "0s", "--cache-dir"]
    hashes = [] if has_etags else ["--etag-hash", ""]
    arguments = [*command, *options, str(folder / "cache"), *hashes, str(buckets)]
    with running(arguments, port, folder / "rclone.log") as process_id:
        yield S3(f"http://127.0.0.1:{port}", buckets, process_id)
