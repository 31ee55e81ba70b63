"""Settings of operations: explanations that outlive a connection."""

from __future__ import annotations

from pydantic import ByteSize, Field
from pydantic_settings import BaseSettings

from onnxplain_server.core.operations import OperationLimits


class OperationSettings(BaseSettings):
    """Limits of operations, which need Redis; all servers on one Redis have the same."""

    operations_bytes: ByteSize = Field(
        ByteSize(2**30),
        description="Space in Redis for requests and responses of operations; for more, the oldest"
        " responses of the caller with most bytes are forgotten.",
        ge=0,
    )
    operations_seconds: float = Field(
        86_400.0,
        description="How long operations are kept after their end, and how long they wait for a "
        "server.",
        ge=60,
        le=31_536_000,
    )
    operations_max_seconds: float = Field(
        86_400.0,
        description="Longest time for an attempt to compute an operation.",
        gt=0,
        le=31_536_000,
    )
    operations_kept_count: int = Field(
        1_000, description="Most operations that are kept for one caller.", ge=1, le=100_000
    )
    operations_running_count: int = Field(
        1_000,
        description="Most operations of one caller that run at the same time, on all servers.",
        ge=1,
        le=100_000,
    )
    operations_lease_seconds: float = Field(
        15.0,
        description="Silence of a server after which others take over its operations.",
        ge=1,
        le=3_600,
    )

    def operation_limits(self) -> OperationLimits:
        """Return the limits of the store."""
        return OperationLimits(
            byte_count=self.operations_bytes,
            seconds=self.operations_seconds,
            kept_count=self.operations_kept_count,
            running_count=self.operations_running_count,
            lease_seconds=self.operations_lease_seconds,
        )
